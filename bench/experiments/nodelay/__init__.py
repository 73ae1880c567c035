"""nodelay.ipynb: Where do forty milliseconds come from?"""
