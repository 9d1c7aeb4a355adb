"""Expresses ordered pipelines as a Spark user would write them."""
