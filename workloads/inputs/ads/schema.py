"""Defines an event of the ads input: a user views an ad on a page, clicks on it, or buys.

Source: the Yahoo streaming benchmark (Chintapalli and others, Benchmarking Streaming Computation
Engines: Storm, Flink and Spark Streaming, 2016). Its ids are UUIDs; here they are numbers.
"""

import numpy as np

INPUT = "ads"
"""Name of this input in the catalogue, for all six workloads."""

EVENT = "event"

VIEW, CLICK, PURCHASE = 0, 1, 2
TYPES = ("view", "click", "purchase")
"""Names of the types in the benchmark's JSON, by number."""

FIELDS = np.dtype(
    [("user", np.int32), ("page", np.int32), ("ad", np.int32), ("type", np.int8)],
)
"""Fields of an event; event times are in milliseconds."""

SECOND_MS = 1000
NONE = -1
"""Campaign of an ad, or location of a user, that is missing from the table."""
