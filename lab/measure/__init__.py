"""Measurements that the lab takes itself, without trusting an engine."""
