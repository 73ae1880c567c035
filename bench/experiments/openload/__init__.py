"""openload.ipynb: What do users experience under open-loop load?"""
