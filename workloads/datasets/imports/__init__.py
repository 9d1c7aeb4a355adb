"""Imports of real input: raw files, read once in order, to datasets in the catalogue."""
