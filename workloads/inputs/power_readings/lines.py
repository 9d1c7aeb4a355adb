"""Lines between readings, for programs: what a load was between two seconds that have one.

Loads are whole milliwatts. The value at a second in between is rounded to the nearest one, halves
up, so that every engine has the same integers.
"""

from typing import Any


def between(before: Any, after: Any, second: Any, seconds: Any) -> Any:
    """Return the load `second` seconds after `before`, on the line to `after` in `seconds`."""
    return (2 * (before * seconds + second * (after - before)) + seconds) // (2 * seconds)
