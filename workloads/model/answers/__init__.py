"""Compares answers as data traces, with tolerances for floats."""
