"""keepalive.ipynb: What does a new connection per call cost?"""
