"""Provides a function per workload, which computes the outputs from tables, in order or by partition."""
