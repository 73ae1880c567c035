"""retries.ipynb: What do retries do to a server that is late?"""
