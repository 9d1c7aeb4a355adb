"""Merges an input into one sequence in the total order (timestamp, stream, position), for oracles."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model import Columns, Input, ListColumn, ModelError, Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """All events of an input, in total order.

    Attributes:
        ts: int64[n].
        kind: int8[n], index of the kind.
        key: int32[n].
        payload: the requested payload columns; 0 for streams that lack a column.
        lists: the requested columns of lists; empty lists for streams that lack a column.
    """

    ts: npt.NDArray[np.int64]
    kind: npt.NDArray[np.int8]
    key: npt.NDArray[np.int32]
    payload: Columns
    lists: dict[str, ListColumn] = field(default_factory=dict)


def total_order(
    data: Input, payload: np.dtype[np.void], lists: Mapping[str, np.dtype[Any]] | None = None
) -> Sequence:
    """Return all events of an input in total order, with the requested payload columns.

    Sorts the concatenated streams by timestamp; ties keep the order of streams, then of positions. Needs memory for
    about two copies of the input.

    Raises:
        ModelError: a column requested as single values holds lists.
    """
    n_kinds = len(data.alphabet.kinds)
    ts = _concatenate(data, np.dtype(np.int64), lambda stream: stream.ts)
    order = np.argsort(ts, kind="stable")
    kind = _concatenate(data, np.dtype(np.int8), lambda stream: _tag(stream) % n_kinds)
    key = _concatenate(data, np.dtype(np.int32), lambda stream: _tag(stream) // n_kinds)
    return Sequence(
        ts=ts[order],
        kind=kind[order],
        key=key[order],
        payload={name: _payload(data, name, payload[name])[order] for name in payload.names or ()},
        lists={
            name: concatenate_lists(data, name, dtype).take(order)
            for name, dtype in (lists or {}).items()
        },
    )


def final_watermark(data: Input, ts: npt.NDArray[np.int64]) -> int:
    """Return the final watermark of an input: the last instant before its cut, or the last event time without a cut."""
    if data.until_ts is not None:
        return data.until_ts - 1
    return int(ts[-1]) if len(ts) else 0


def concatenate_lists(data: Input, name: str, dtype: np.dtype[Any]) -> ListColumn:
    """Concatenate a column of lists over all streams; streams without the column get empty lists."""
    parts = []
    for stream in data.streams:
        column = stream.payload.get(name)
        if not isinstance(column, ListColumn):
            column = ListColumn(np.zeros(len(stream) + 1, dtype=np.int64), np.empty(0, dtype))
        parts.append(column)
    return ListColumn.concatenate(parts, dtype)


def _payload(data: Input, name: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    def column(stream: Stream) -> npt.NDArray[Any] | None:
        values = stream.payload.get(name)
        if isinstance(values, ListColumn):
            raise ModelError(f"stream {stream.name}: column {name} holds lists, not single values")
        return values

    return _concatenate(data, dtype, column)


def _tag(stream: Stream) -> npt.NDArray[np.int32]:
    if stream.tag is None:
        return np.full(len(stream), stream.kinds[0], dtype=np.int32)
    return stream.tag


def _concatenate(
    data: Input,
    dtype: np.dtype[Any],
    column: Callable[[Stream], npt.NDArray[Any] | None],
) -> npt.NDArray[Any]:
    """Concatenate one column over all streams; streams without the column get 0."""
    joined = np.zeros(data.events, dtype=dtype)
    begin = 0
    for stream in data.streams:
        values = column(stream)
        if values is not None:
            joined[begin : begin + len(stream)] = values
        begin += len(stream)
    return joined
