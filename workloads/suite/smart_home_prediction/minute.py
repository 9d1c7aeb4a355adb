"""Stores the loads of the last 60 seconds and their sum in the state of a type of device."""

from typing import Any

import numpy as np

MINUTE_S = 60

MINUTE = np.dtype(
    [
        ("seen", np.int8),
        ("last_second", np.int64),
        ("minute_mj", np.int64),
        ("by_second_mw", np.int64, (MINUTE_S,)),
    ]
)
"""Whether there was a load, its last second, the sum of the loads, and the load of second s at s modulo 60."""


def remember(s: Any, second: Any, load_mw: Any) -> None:
    """Add a second's load, and remove loads a minute old; seconds come in order."""
    passed = second - s.last_second
    if s.seen == 0 or passed > MINUTE_S:
        passed = MINUTE_S
    for seconds_back in range(passed):
        slot = (second - seconds_back) % MINUTE_S
        s.minute_mj -= s.by_second_mw[slot]
        s.by_second_mw[slot] = 0
    s.by_second_mw[second % MINUTE_S] = load_mw
    s.minute_mj += load_mw
    s.seen = 1
    s.last_second = second
