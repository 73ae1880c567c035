"""noise.ipynb: How quiet is this machine?"""
