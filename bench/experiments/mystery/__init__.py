"""mystery.ipynb: Which fault does each server have?"""
