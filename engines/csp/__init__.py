"""Runs DGS programs on csp: edges in C++ between nodes in Python, one event after the other."""
