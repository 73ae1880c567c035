"""openload.ipynb: How does it behave when users do not wait?"""
