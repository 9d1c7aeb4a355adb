"""Elastic operators: what a controller sees, what it may decide, and the loop that runs it."""
