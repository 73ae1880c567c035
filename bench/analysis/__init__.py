"""What a run says: comparisons, quantiles, resources, predictions, checks. Nothing here measures or draws."""
