"""Benchmarks of the lab's own parts, and the figures that they must reach."""
