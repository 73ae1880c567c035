"""latency.ipynb: How long is one round trip?"""
