"""network.ipynb: What does the network add?"""
