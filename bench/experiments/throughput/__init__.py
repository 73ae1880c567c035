"""throughput.ipynb: How many messages and calls per second are possible?"""
