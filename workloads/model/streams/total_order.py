"""Merges the streams of an input in total order: (timestamp, stream index, position in the stream)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.dataflow import Dataflow
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.operators.program import Query
from streamlab.workloads.model.operators.windows import check_times
from streamlab.workloads.model.pipeline.program import Pipeline
from streamlab.workloads.model.streams.lists import ListColumn
from streamlab.workloads.model.streams.records import event_type, record_type, tuple_type
from streamlab.workloads.model.streams.stream import Columns, Input, IntArray, Stream

_CHUNK = 1 << 16
"""Events converted to Python objects per step, to limit memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedInput:
    """Holds all events of an input as one sequence.

    Attributes:
        columns: `ts`, `kind`, `key` and the payload, streams one after another; fields that a stream
            does not have are 0.
        lists: The list-valued payload of a query's input; lists that a stream does not have are empty.
        stream: int64[n], the stream of each row of `columns`.
        order: int64[n], the rows in total order.
    """

    columns: Columns
    lists: Mapping[str, ListColumn] = field(default_factory=dict)
    stream: IntArray
    order: IntArray

    def events(
        self, program: DGSProgram | Query | Pipeline | Dataflow, *, chunk: int = _CHUNK
    ) -> Iterator[Any]:
        """Yield all events in total order, in the program's representation, with lists as tuples.

        The first event of each `chunk` waits until all events of the chunk are converted.
        """
        if isinstance(program, Query):
            payload = (*(program.event.names or ()), *self.lists)
            make = tuple_type(payload)._make
            names = ("ts", "kind", *(program.event.names or ()))
        elif isinstance(program, Pipeline):
            make = record_type(program.event.names or ())._make
            names = ("ts", *(program.event.names or ()))
        else:
            make = event_type(program.event)._make
            names = ("ts", "kind", "key", *(program.event.names or ()))
        for begin in range(0, len(self.order), chunk):
            rows = self.order[begin : begin + chunk]
            columns: list[Sequence[Any]] = [self.columns[name][rows].tolist() for name in names]
            columns += [[*map(tuple, part.take(rows).rows())] for part in self.lists.values()]
            yield from map(make, zip(*columns, strict=True))


def merge(data: Input, program: DGSProgram | Query | Pipeline | Dataflow) -> MergedInput:
    """Return all events of an input in total order.

    Raises:
        ModelError: A column does not have the type that the program reads, or times are too large.
    """
    n_kinds = len(data.alphabet.kinds)
    tags = [_tags(stream) for stream in data.streams]
    tag = _concatenate(tags, np.dtype(np.int64))
    columns: Columns = {
        "ts": _concatenate([stream.ts for stream in data.streams], np.dtype(np.int64)),
        "kind": tag % n_kinds,
        "key": tag // n_kinds,
    }
    for name in program.event.names or ():
        dtype = program.event[name]
        columns[name] = _concatenate([_scalars(s, name, dtype) for s in data.streams], dtype)
    lists: dict[str, ListColumn] = {}
    if isinstance(program, Query):
        check_times(program, data)
        for name, dtype in program.operators[0].lists.items():
            parts = [_lists(stream, name, dtype) for stream in data.streams]
            lists[name] = ListColumn.concatenate(parts, dtype)
    lengths = [len(stream) for stream in data.streams]
    return MergedInput(
        columns=columns,
        lists=lists,
        stream=np.repeat(np.arange(len(lengths)), lengths),
        # Streams are one after another, so a stable sort keeps (stream, position) for equal times.
        order=np.argsort(columns["ts"], kind="stable"),
    )


def _concatenate(parts: Sequence[npt.NDArray[Any]], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)


def _scalars(stream: Stream, name: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    column = stream.payload.get(name)
    if column is None:
        return np.zeros(len(stream), dtype=dtype)
    if isinstance(column, ListColumn):
        raise ModelError(
            f"stream {stream.name}: column {name} holds lists, but the program reads single values"
        )
    return np.asarray(column, dtype=dtype)


def _lists(stream: Stream, name: str, dtype: np.dtype[Any]) -> ListColumn:
    column = stream.payload.get(name)
    if column is None:
        return ListColumn(np.zeros(len(stream) + 1, dtype=np.int64), np.empty(0, dtype=dtype))
    if not isinstance(column, ListColumn):
        raise ModelError(
            f"stream {stream.name}: column {name} holds single values, but the program reads lists"
        )
    return column


def _tags(stream: Stream) -> IntArray:
    if stream.tag is None:
        return np.full(len(stream), stream.kinds[0], dtype=np.int64)
    return stream.tag.astype(np.int64)
