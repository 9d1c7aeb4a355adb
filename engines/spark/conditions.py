"""Declares what Spark's rates include, by variant; the clock runs from a query's start to its answer."""

from streamlab.engines.conditions import (
    DECODING,
    FILE,
    MEMORY,
    MICRO_BATCH,
    PYTHON,
    READING,
    START_UP,
    WHOLE,
    Conditions,
)
from streamlab.engines.spark.operators import registry

BATCH = Conditions(unit=WHOLE, origin=FILE, also_timed=(READING, DECODING))
CACHED = Conditions(unit=WHOLE, origin=MEMORY)
GENERIC_BATCH = Conditions(unit=WHOLE, origin=FILE, also_timed=(READING, DECODING, PYTHON))
GENERIC_STREAMING = Conditions(
    unit=MICRO_BATCH, origin=FILE, also_timed=(READING, DECODING, PYTHON, START_UP)
)

_WITHOUT_PYTHON = {*registry.FORMS, "linear_road_pos_rep"}
"""Workloads whose streaming query is relational; the others use operators in Python."""


def streaming(workload: str) -> Conditions:
    """Return the conditions of a streaming query, whose start is timed."""
    python = () if workload in _WITHOUT_PYTHON else (PYTHON,)
    parts = (READING, DECODING, *python, START_UP)
    return Conditions(unit=MICRO_BATCH, origin=FILE, also_timed=parts)
