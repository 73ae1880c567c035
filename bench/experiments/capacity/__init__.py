"""capacity.ipynb: How many users can it serve in time?"""
