"""Computes statistics as pure functions of arrays: no I/O, no clock, randomness from the caller.

Every value comes from a fresh process. Values within a process are correlated, and a test that
assumes independence would raise false alarms (docs/gates.md has the measured rates).
"""
