"""overview.ipynb: How much does each RPC system add to a raw socket?"""
