"""Query parameters of windows that are made of whole blocks between markers."""

from streamlab.workloads.inputs.ads.declaration import MARKERS
from streamlab.workloads.model import ModelError, Parameter, Params

WINDOW = {
    **MARKERS,
    "window_ms": Parameter(
        default=10_000, help="window size (event time)", minimum=1, maximum=2**40
    ),
}
_MOST = 10_000
"""A key's state has a count for each block of a sliding window."""


def blocks_in(query: Params, parameter: str = "window_ms") -> int:
    """Return how many blocks a parameter's span of event time has.

    Raises:
        ModelError: it is not a whole number of blocks, or more than a state is to hold.
    """
    span_ms, markers_ms = int(query[parameter]), int(query["markers_ms"])
    if span_ms % markers_ms or span_ms // markers_ms > _MOST:
        raise ModelError(
            f"query parameter {parameter} is {span_ms} and markers_ms {markers_ms}; the one must "
            f"be a multiple of the other, 1 to {_MOST:,} times as long"
        )
    return span_ms // markers_ms
