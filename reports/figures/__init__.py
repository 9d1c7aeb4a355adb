"""Figures drawn with matplotlib: the general ones of every run, one module each."""
