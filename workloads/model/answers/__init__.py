"""Compares answers: data-trace equality, floats, the order that outputs must keep."""
