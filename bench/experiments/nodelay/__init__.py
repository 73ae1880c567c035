"""nodelay.ipynb: How much time do Nagle's algorithm and delayed ACKs add to a call?"""
