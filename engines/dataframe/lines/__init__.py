"""Each workload in NumPy, on one thread."""
