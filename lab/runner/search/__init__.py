"""Searches for the highest rate that an engine sustains."""
