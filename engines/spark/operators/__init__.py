"""Expresses queries of operators O+ as Spark relations: one each, for batch and streaming."""
