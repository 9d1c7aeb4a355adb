"""Defines programs with dependency-guided synchronization (DGS), their laws and their plans."""
