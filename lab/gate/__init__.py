"""Detects regressions: builds an old and a new copy (arm) of the code alike, measures them in turn, and decides."""
