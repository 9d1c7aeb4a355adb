"""Each workload in Polars, on its own pool of threads."""
