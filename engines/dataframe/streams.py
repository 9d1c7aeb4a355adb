"""The streams of an input as tables: many bulk events, and the few markers that cut them into runs.

That is the shape of all programs with DGS here (kind 0: values, views, transactions, increments;
kind 1: barriers, updates, rules, resets), and what makes a line of array operations possible.
"""

from dataclasses import dataclass

from workloads.datasets.dataset import Dataset
from workloads.model import Input, Stream

BULK, MARKER = (0,), (1,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """An input by what its streams carry; the index of a stream breaks ties in event time.

    Attributes:
        bulk, markers: index and stream.
        kinds: number of kinds: a tag is key x kinds + kind.
        keys: number of keys.
    """

    bulk: tuple[tuple[int, Stream], ...]
    markers: tuple[tuple[int, Stream], ...]
    kinds: int
    keys: int


def streams_of(data: Input) -> Streams:
    """Sort the streams of an input by what they carry; none carries both (`mixed`)."""
    every = tuple(enumerate(data.streams))
    return Streams(
        bulk=tuple((src, stream) for src, stream in every if stream.kinds == BULK),
        markers=tuple((src, stream) for src, stream in every if stream.kinds == MARKER),
        kinds=len(data.alphabet.kinds),
        keys=data.alphabet.keys,
    )


def mixed(dataset: Dataset) -> str | None:
    """Return the name of a stream that carries both bulk events and markers, or None."""
    return next((s.name for s in dataset.streams if s.kinds not in (BULK, MARKER)), None)
