"""Checks whether a machine is fit for measurements, and suggests remedies."""
