"""origins.ipynb: How do published numbers compare with those measured here?"""
