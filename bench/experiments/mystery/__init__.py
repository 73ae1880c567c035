"""mystery.ipynb: What is wrong with this server?"""
