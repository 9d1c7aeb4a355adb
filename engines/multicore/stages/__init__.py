"""Compiles pipeline operators for the variants `ordered` and `layers`."""
