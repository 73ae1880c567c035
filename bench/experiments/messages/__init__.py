"""messages.ipynb: What does the message cost?"""
