"""Matrices: what a run is to measure, read from TOML and expanded into cells."""
