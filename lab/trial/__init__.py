"""Runs one trial in the measured process, from its specification to its evidence."""
