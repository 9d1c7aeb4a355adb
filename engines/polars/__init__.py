"""Polars: each workload as the data-frame query that a user of it would write."""
