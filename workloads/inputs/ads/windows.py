"""Defines the query parameters of windows that consist of whole blocks between markers."""

from streamlab.workloads.inputs.ads.declaration import MARKERS
from streamlab.workloads.model import ModelError, Parameter, Params

WINDOW = {
    **MARKERS,
    "window_ms": Parameter(
        default=10_000, help="window size (event time)", minimum=1, maximum=2**40
    ),
}
_MAX_BLOCKS = 10_000
"""Bounds the state of a key, which has a count for each block of a sliding window."""


def blocks_in(query: Params, parameter: str = "window_ms") -> int:
    """Return the number of blocks in the time span of a query parameter.

    Raises:
        ModelError: the span is not a whole number of blocks, or has more than 10,000.
    """
    span_ms, markers_ms = int(query[parameter]), int(query["markers_ms"])
    if span_ms % markers_ms or span_ms // markers_ms > _MAX_BLOCKS:
        raise ModelError(
            f"query parameter {parameter} is {span_ms} and markers_ms {markers_ms}; {parameter} "
            f"must be a multiple of markers_ms, 1 to {_MAX_BLOCKS:,} times as long"
        )
    return span_ms // markers_ms
