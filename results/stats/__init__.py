"""Computes statistics as pure functions of arrays: no I/O, no clock, and random generators from the caller.

Every value comes from a fresh process. Values from the same process are correlated, so a test that assumes
independence would raise false alarms (docs/gates.md has the measured rates).
"""
