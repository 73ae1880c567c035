"""scaleup.ipynb: How does throughput scale with the number of server workers?"""
