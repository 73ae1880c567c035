"""calibration.ipynb: How accurate are this instrument's quantiles?"""
