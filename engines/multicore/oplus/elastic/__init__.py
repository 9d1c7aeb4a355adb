"""Scales elastic operators: controllers, their observations and decisions, and the loop that runs them."""
