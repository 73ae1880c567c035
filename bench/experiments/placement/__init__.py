"""placement.ipynb: Which CPU did it run on?"""
