"""throughput.ipynb: How many messages per second?"""
