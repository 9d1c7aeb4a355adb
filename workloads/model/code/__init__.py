"""Inspects users' functions: fingerprints, sources, constants."""
