"""Runs workloads on engines, verifies every answer, and measures, stores and shows the results."""
