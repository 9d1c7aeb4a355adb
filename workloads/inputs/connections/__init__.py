"""Input of `outlier_detection`: network connections with 41 features."""
