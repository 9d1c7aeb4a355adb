"""Query 15 as a pipeline that forwards the new statistics of the day after each bid."""

from typing import Any

from streamlab.workloads.inputs.nexmark.bidding_statistics import (
    bidding_statistics,
    statistics_columns,
)
from streamlab.workloads.model import Pipeline

OUTPUT = statistics_columns()


def program(day_ms: int) -> Pipeline:
    """Return the pipeline."""
    return bidding_statistics(
        "nexmark_q15", day_ms, channel_of=_every_channel, output=OUTPUT, emit=_emit
    )


def _every_channel(t: Any) -> int:
    return 0


def _emit(s: Any, t: Any, out: Any) -> None:
    c = s.counts
    out.emit(s.day, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11])
