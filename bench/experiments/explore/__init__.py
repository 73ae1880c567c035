"""explore.ipynb: What changes when you change one thing?"""
