"""placement.ipynb: How does CPU placement change the round-trip time?"""
