"""Computes offered loads: when each event and heartbeat of a dataset is due."""
