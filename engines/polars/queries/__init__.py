"""Provides one module per workload; its `answer(tables)` returns the outputs, in order or by partition."""
