"""Classifies the streams of an input into bulk events, and markers that separate them into runs.

All DGS programs here have that shape (kind 0: values, views, transactions, increments; kind 1: barriers, updates,
rules, resets), which makes array operations possible. In a join the two kinds are the left and the right side.
"""

from dataclasses import dataclass

from streamlab.workloads.model import Input, Params, Stream

BULK, MARKER = (0,), (1,)

Side = tuple[tuple[int, Stream], ...]
"""Streams of one kind, with their indices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """The streams of an input by kind; the index of a stream breaks ties in event time.

    Attributes:
        bulk, markers: index and stream.
        kinds: number of kinds: a tag is key x kinds + kind.
        keys: number of keys.
        params: the workload's query parameters.
    """

    bulk: Side
    markers: Side
    kinds: int
    keys: int
    params: Params


def streams_of(data: Input, params: Params) -> Streams:
    """Classify the streams of an input by kind; each must have one kind."""
    every = tuple(enumerate(data.streams))
    return Streams(
        bulk=tuple((src, stream) for src, stream in every if stream.kinds == BULK),
        markers=tuple((src, stream) for src, stream in every if stream.kinds == MARKER),
        kinds=len(data.alphabet.kinds),
        keys=data.alphabet.keys,
        params=params,
    )
