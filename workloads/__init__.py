"""Workloads: the programming models, the datasets and one package per workload. Imports no engine."""
