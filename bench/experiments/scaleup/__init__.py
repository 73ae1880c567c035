"""scaleup.ipynb: How far do more workers carry?"""
