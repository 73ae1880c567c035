"""languages.ipynb: How much of it is Python?"""
