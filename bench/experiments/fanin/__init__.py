"""fanin.ipynb: How do brokers and servers perform with many clients?"""
