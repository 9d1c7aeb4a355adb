"""Runs workloads on Polars, as the data-frame queries that a user would write."""
