"""Runs workloads as a few lines of NumPy, the simplest baseline for an engine."""
