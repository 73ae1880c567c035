"""compare.ipynb: Is B really faster than A?"""
