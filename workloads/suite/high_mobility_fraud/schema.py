"""Defines the records of calls and of locations, and the speed between two locations."""

import math

import numpy as np

CALL = np.dtype(
    [
        ("duration_s", np.int32),
        ("area", np.int16),
        ("caller", np.int32),
        ("caller_x", np.int32),
        ("caller_y", np.int32),
        ("callee", np.int32),
        ("callee_x", np.int32),
        ("callee_y", np.int32),
    ]
)
"""A call data record. Event time is the start of the call in ms, `area` the caller's area code. Places are in m."""
KIND = "call"


def speed_mps(x: int, y: int, ms: int) -> float:
    """Return the speed in m/s over a distance in metres; less than a millisecond counts as a millisecond."""
    return math.sqrt(float(x) * float(x) + float(y) * float(y)) * 1000.0 / max(ms, 1)
