"""Queries of operators O+ in Spark's own idiom: one relation each, for batch and streaming."""
