"""Measures the multicore engine's generator with a reader that does nothing.

As a program, prints one JSON object. `eps` is the rate of the generator if all events are due at once.
`send_lag_p99_ns` is its delay at 1 M events/s.
"""

import json
from collections.abc import Sequence

import numpy as np

from streamlab.engines.multicore import _core

BATCH = 64
CEILING_EVENTS = 20_000_000
LAG_RATE_EPS = 1e6
LAG_EVENTS = 3_000_000
"""Three seconds of load."""


def ceiling_eps() -> float:
    """Return the rate in events/s if all events are due at once."""
    duration_ns, _ = _core.try_generator(CEILING_EVENTS, BATCH, 0.0)
    return CEILING_EVENTS / duration_ns * 1e9


def send_lag_p99_ns() -> int:
    """Return the 99th percentile of the send lag at 1 M events/s, in nanoseconds."""
    _, lag = _core.try_generator(LAG_EVENTS, BATCH, LAG_RATE_EPS)
    values_ns, counts = (np.frombuffer(column, dtype=np.int64).tolist() for column in lag)
    return percentile_ns(values_ns, counts, 0.99)


def percentile_ns(values_ns: Sequence[int], counts: Sequence[int], share: float) -> int:
    """Return the highest value of the bucket that contains the percentile `share` of all samples.

    Raises:
        ValueError: there are no samples.
    """
    needed = share * sum(counts)
    reached = 0
    for value_ns, count in zip(values_ns, counts, strict=True):
        reached += count
        if reached >= needed:
            return value_ns
    raise ValueError("the generator recorded no send lag")


if __name__ == "__main__":
    print(json.dumps({"eps": ceiling_eps(), "send_lag_p99_ns": send_lag_p99_ns()}))
