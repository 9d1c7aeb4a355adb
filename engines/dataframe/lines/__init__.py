"""Computes each workload in NumPy, on one thread; one module a workload."""
