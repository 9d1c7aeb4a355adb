"""Judges trials: compares their answers and readings, in processes that never run an engine."""
