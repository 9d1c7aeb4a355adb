"""Statistics as pure functions of arrays: no I/O, no clock, and randomness only from the caller.

Every value is one of a fresh process. Values within a process are correlated, and a test that takes
them for independent raises false alarms (docs/gates.md has the measured rates).
"""
