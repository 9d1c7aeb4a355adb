"""Runs query graphs with a thread per instance; channels or operators order the tuples, or none do."""
