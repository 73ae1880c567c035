"""overview.ipynb: How much does each layer cost?"""
