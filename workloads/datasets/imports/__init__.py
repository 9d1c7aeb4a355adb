"""Imports raw files as datasets in the catalogue."""
