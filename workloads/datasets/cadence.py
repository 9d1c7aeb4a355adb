"""Lays out generated input: assigns the tuples of a logical stream to physical streams, and sets event times.

Tuple g of a logical stream goes to physical stream g modulo the number of physical streams.

Event time is counted in ticks. Row j of every ordinary stream is at tick j, so the streams tie
at every tick. Synchronizing row k is at the last tick of period k. It ties with the last ordinary
rows of its period and comes after them, because its stream is declared last.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model import Params, StreamSpec


def rows_per_stream(events: int, streams: int, period: int) -> int:
    """Return how many rows each ordinary stream needs so that all streams together hold at least `events` events.

    The result is the smallest n with `streams * n + n // period >= events`. The total exceeds `events` by at most
    `streams`.
    """
    rows = max(events * period // (streams * period + 1), 0)
    while streams * rows + rows // period < events:
        rows += 1
    return rows


def one_key(params: Params) -> int:
    """Return 1: the number of keys if tags carry no key."""
    return 1


def numbered_specs(
    name: str,
    kind: str,
    fields: np.dtype[np.void],
    rows: Iterable[int],
    lists: tuple[tuple[str, np.dtype[Any]], ...] = (),
) -> tuple[StreamSpec, ...]:
    """Return streams of one kind, named `name-0` and so on; `rows` has the number of rows per stream."""
    return tuple(
        StreamSpec(name=f"{name}-{index}", kinds=(kind,), fields=fields, events=events, lists=lists)
        for index, events in enumerate(rows)
    )


def typed_columns(
    columns: Mapping[str, npt.NDArray[Any]], fields: np.dtype[np.void]
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a stream, in the order and with the types of `fields`."""
    return {name: columns[name].astype(fields[name]) for name in fields.names or ()}


def ticks(begin: int, end: int) -> npt.NDArray[np.int64]:
    """Return the event times of ordinary rows [begin, end)."""
    return np.arange(begin, end, dtype=np.int64)


def sync_ticks(begin: int, end: int, period: int) -> npt.NDArray[np.int64]:
    """Return the event times of synchronizing rows [begin, end), one every `period` ticks."""
    return np.arange(begin + 1, end + 1, dtype=np.int64) * period - 1


def shares_of(events: int, rates: tuple[int, ...]) -> tuple[int, ...]:
    """Split a number of events over logical streams in proportion to their rates.

    Returns:
        Counts that sum up to `events`, each within 1 of its exact share.
    """
    total, before, counts = sum(rates), 0, []
    for index in range(len(rates)):
        upto = -(-events * sum(rates[: index + 1]) // total)
        counts.append(upto - before)
        before = upto
    return tuple(counts)


def rows_of(tuples: int, stream: int, streams: int) -> int:
    """Return how many of the first `tuples` tuples go to physical stream `stream`."""
    return max(0, -(-(tuples - stream) // streams))


def tuples_of(begin: int, end: int, stream: int, streams: int) -> npt.NDArray[np.int64]:
    """Return the logical stream's tuple numbers for rows [begin, end) of a physical stream."""
    return np.arange(begin, end, dtype=np.int64) * streams + stream
