"""tls.ipynb: What does encryption cost?"""
