"""Provides the batch queries of DGS programs, the fastest known for each workload."""
