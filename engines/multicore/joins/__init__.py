"""Runs hand-written band joins, as a comparison for the operator O+."""
