"""What an event is: a user sees an ad on a page, clicks on it, or buys.

Source: the Yahoo streaming benchmark (Chintapalli and others, Benchmarking Streaming Computation
Engines: Storm, Flink and Spark Streaming, 2016), whose ids are UUIDs and are numbers here.
"""

import numpy as np

INPUT = "ads"
"""By which datasets are kept: all six workloads take the same."""

EVENT = "event"

VIEW, CLICK, PURCHASE = 0, 1, 2
TYPES = ("view", "click", "purchase")
"""Types of events by number, as the benchmark's JSON has them."""

FIELDS = np.dtype(
    [("user", np.int32), ("page", np.int32), ("ad", np.int32), ("type", np.int8)],
)
"""Event times are in milliseconds."""

SECOND_MS = 1000
NONE = -1
"""Campaign of an ad, or location of a user, that is in no table."""
