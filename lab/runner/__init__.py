"""Runs a matrix: prepares the input, runs the trials one by one, and stores their rows."""
