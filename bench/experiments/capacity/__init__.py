"""capacity.ipynb: What is the highest rate that meets a service level objective?"""
