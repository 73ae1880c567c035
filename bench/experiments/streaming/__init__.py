"""streaming.ipynb: What arrives first, and how evenly?"""
