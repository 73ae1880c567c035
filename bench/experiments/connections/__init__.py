"""connections.ipynb: One connection or many, persistent or new?"""
