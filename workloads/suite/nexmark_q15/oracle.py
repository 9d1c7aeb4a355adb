"""Computes the expected statistics of query 15."""

from streamlab.workloads.inputs.nexmark.oracles import statistics_of
from streamlab.workloads.model import Columns, Input


def oracle(data: Input, day_ms: int) -> Columns:
    """Return the statistics of the day after each bid, in total order."""
    return statistics_of(data, day_ms)
