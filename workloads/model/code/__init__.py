"""Inspects users' functions: fingerprints, sources, constants, locations, and memoized results."""
