"""Looks into users' functions: fingerprints, sources, constants."""
