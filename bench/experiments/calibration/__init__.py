"""calibration.ipynb: Can this instrument be trusted?"""
