"""wamp.ipynb: What does a router add to a call, and which factor matters most?"""
