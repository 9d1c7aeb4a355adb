"""Runs DGS programs (dependency-guided synchronization) on synchronization plans."""
