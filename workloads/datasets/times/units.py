"""Defines the units of event time, and its limit."""

PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""Ticks of a second by unit."""
UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
"""Words by unit, for messages."""
FARTHEST = 2**61
"""The limit of event times, because engines add windows to them in 64 bits."""
