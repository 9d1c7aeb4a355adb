"""Network connections with 41 features: the input of `outlier_detection`."""
