"""Reads matrices from TOML, and expands them into cells."""
