"""Defines the units of event time."""

PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}

FARTHEST = 2**61
"""The limit of event times, because engines add windows to them in 64 bits."""
