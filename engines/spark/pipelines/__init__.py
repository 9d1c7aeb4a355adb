"""Ordered pipelines as a Spark user would write them."""
