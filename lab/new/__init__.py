"""Writes new packages for engines and workloads from templates, complete and tested."""
