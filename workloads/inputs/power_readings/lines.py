"""Interpolates a plug's load between two readings, in programs.

Loads are whole milliwatts. Interpolated values are rounded to the nearest milliwatt, halves up, so
all engines compute the same integers.
"""

from typing import Any


def interpolate_load(before: Any, after: Any, second: Any, seconds: Any) -> Any:
    """Interpolate linearly from load `before` to load `after`, `seconds` later, at `second`."""
    return (2 * (before * seconds + second * (after - before)) + seconds) // (2 * seconds)
