"""Stores the results of runs, and reads, compares and summarizes them."""
