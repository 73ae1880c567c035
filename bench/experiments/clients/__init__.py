"""clients.ipynb: How does throughput grow with the number of clients?"""
