"""wamp.ipynb: What does a router cost, and which part of it?"""
