"""fanin.ipynb: How do brokers and servers bear many clients?"""
