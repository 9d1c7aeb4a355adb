"""The total order of an input: (timestamp, stream index, position in the stream)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from workloads.model.program import DGSProgram
from workloads.model.records import event_type
from workloads.model.stream import Columns, Input, IntArray, Stream

_CHUNK = 1 << 16
"""Events turned into Python objects at a time; bounds the memory that they take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """All events of an input as one sequence.

    Attributes:
        columns: `ts`, `kind`, `key` and the payload, streams one after another; a field that a
        stream
            does not carry is 0.
        stream: int32[n], the stream of each row of `columns`.
        order: int64[n], the rows in total order.
    """

    columns: Columns
    stream: IntArray
    order: IntArray

    def events(self, program: DGSProgram, *, chunk: int = _CHUNK) -> Iterator[Any]:
        """Yield all events in total order.

        Args:
            program: whose events they are.
            chunk: events made at a time; the first of them waits for all.
        """
        make = event_type(program.event)._make
        for begin in range(0, len(self.order), chunk):
            rows = self.order[begin : begin + chunk]
            columns = [column[rows].tolist() for column in self.columns.values()]
            yield from map(make, zip(*columns, strict=True))


def merge(data: Input, program: DGSProgram) -> Merged:
    """Put all events of an input in total order."""
    n_kinds = len(data.alphabet.kinds)
    tags = [_tags(stream) for stream in data.streams]
    columns: Columns = {
        "ts": np.concatenate([stream.ts for stream in data.streams]),
        "kind": np.concatenate([tag % n_kinds for tag in tags]),
        "key": np.concatenate([tag // n_kinds for tag in tags]),
    }
    for name in program.event.names or ():
        dtype = program.event[name]
        parts = [
            np.asarray(stream.payload[name], dtype=dtype)
            if name in stream.payload
            else np.zeros(len(stream), dtype=dtype)
            for stream in data.streams
        ]
        columns[name] = np.concatenate(parts)
    lengths = [len(stream) for stream in data.streams]
    return Merged(
        columns=columns,
        stream=np.repeat(np.arange(len(lengths)), lengths),
        # Streams lie one after another, so a stable sort keeps (stream, position) among equal
        # times.
        order=np.argsort(columns["ts"], kind="stable"),
    )


def _tags(stream: Stream) -> IntArray:
    if stream.tag is None:
        return np.full(len(stream), stream.kinds[0], dtype=np.int64)
    return stream.tag.astype(np.int64)
