"""The streams of an input as tables: many bulk events, and the few markers that cut them into runs.

That is the shape of all programs with DGS here (kind 0: values, views, transactions, increments;
kind 1: barriers, updates, rules, resets), and what makes a line of array operations possible. Of a
join the kinds are its left and its right side.
"""

from dataclasses import dataclass

from streamlab.workloads.model import Input, Params, Stream

BULK, MARKER = (0,), (1,)

Side = tuple[tuple[int, Stream], ...]
"""Streams of one kind, with their indices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """An input by what its streams carry; the index of a stream breaks ties in event time.

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
    """Sort the streams of an input by what they carry; none carries both."""
    every = tuple(enumerate(data.streams))
    return Streams(
        bulk=tuple((src, stream) for src, stream in every if stream.kinds == BULK),
        markers=tuple((src, stream) for src, stream in every if stream.kinds == MARKER),
        kinds=len(data.alphabet.kinds),
        keys=data.alphabet.keys,
        params=params,
    )
