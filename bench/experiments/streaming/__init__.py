"""streaming.ipynb: When does the first reply of a stream arrive, and how evenly do the others follow?"""
