"""origins.ipynb: What did they measure, and what do we get?"""
