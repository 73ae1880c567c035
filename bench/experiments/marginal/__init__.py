"""marginal.ipynb: What does one more call cost a client process?"""
