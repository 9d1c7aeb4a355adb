"""Runs workloads on Spark through PySpark: in Structured Streaming, and as batch queries."""
