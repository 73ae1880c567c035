"""clients.ipynb: Two clients, twice the throughput: why, and until when?"""
