"""Provides a function per workload; it returns the outputs of tables, in order or by partition."""
