"""Runs query graphs with a thread per instance. Tuples are ordered by channels, by operators, or not at all."""
