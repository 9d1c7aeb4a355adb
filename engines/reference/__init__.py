"""Runs the sequential semantics of a program, in plain Python."""
