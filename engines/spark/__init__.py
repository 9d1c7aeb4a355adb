"""Spark through PySpark: Structured Streaming, and the best batch query beside it."""
