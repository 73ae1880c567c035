"""explore.ipynb: What changes when you change one factor?"""
