"""Implements the streaming query as one stateful operator over all streams.

A stateless Python step first packs each run of events into one row (a few hundred kilobytes of column bytes). Spark
then shuffles and groups only a few rows per micro-batch, and an event costs no more than the copy of its bytes.

If the output of a bulk event needs no other bulk event (page views), each stream has its own group, and all separators
are replicated to each group; otherwise there is one group.

Under an offered load, every micro-batch also has beats: promises about the progress of the input (`load_files.py`).
Every group then emits acknowledgements: a row for each of its streams, with `src` = -1 - stream and `ts` = the number
of processed events of that stream.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.state import GroupState

from streamlab.engines.spark.streaming.chunk import Pending, Run, separate
from streamlab.engines.spark.streaming.kernels import KERNELS, Output

PACKED = "group int, src int, events binary"
RESULT = "rows binary"
RESULT_ROWS = 1 << 14
"""Maximum number of output rows packed into one: about a quarter of a megabyte, so that the JVM gets no huge object."""
STATE = "value binary"
BEAT = (("src", "int64"), ("ts", "int64"), ("rows", "int64"))
BEAT_SRC = -1
"""`src` of a packed row of beats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatefulQuery:
    """Describes the query to Python workers.

    Attributes:
        workload: name of the workload.
        columns: (name, dtype) of the columns in the files of each stream.
        kinds: the kinds that occur in each stream.
        n_kinds: how many kinds the alphabet has.
        keys: how many keys the alphabet has.
        payload: the separators' payload column; `ts` for separators without payload.
        per_stream: whether there is one group per stream.
        labels: the value of each group in the `group` column.
        output: (name, dtype) of the output, with `src` last.
        beats: whether beats report the progress of streams, and groups acknowledge events.
    """

    workload: str
    columns: tuple[tuple[tuple[str, str], ...], ...]
    kinds: tuple[tuple[int, ...], ...]
    n_kinds: int
    keys: int
    payload: str
    per_stream: bool
    labels: tuple[int, ...]
    output: tuple[tuple[str, str], ...]
    beats: bool = False

    def groups_of(self, src: int) -> tuple[int, ...]:
        """Return the groups that need the events of a stream."""
        if not self.per_stream:
            return (0,)
        return tuple(range(len(self.kinds))) if 1 in self.kinds[src] else (src,)

    def sources_of(self, group: int) -> tuple[int, ...]:
        """Return the streams that a group takes events from, ascending."""
        return tuple(src for src in range(len(self.kinds)) if group in self.groups_of(src))


def packer(
    query: StatefulQuery, src: int, groups: Sequence[int]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the step that packs the rows of stream `src`, column after column, for some groups.

    `src` is BEAT_SRC for beats.
    """
    labels = [query.labels[group] for group in groups]

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            events = b"".join(column.to_numpy().tobytes() for column in batch.columns)
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array(labels, pa.int32()),
                    pa.array([src] * len(labels), pa.int32()),
                    pa.array([events] * len(labels), pa.binary()),
                ],
                names=["group", "src", "events"],
            )

    return pack


def unpack(columns: tuple[tuple[str, str], ...], events: bytes | pa.Buffer) -> Run:
    """Return the columns of a packed run."""
    dtypes = [np.dtype(dtype) for _, dtype in columns]
    rows = memoryview(events).nbytes // sum(dtype.itemsize for dtype in dtypes)
    run, offset = {}, 0
    for (name, _), dtype in zip(columns, dtypes, strict=True):
        run[name] = np.frombuffer(events, dtype, rows, offset)
        offset += rows * dtype.itemsize
    return run


def operator(query: StatefulQuery) -> Callable[..., Iterator[pd.DataFrame]]:
    """Return the stateful operator for `applyInPandasWithState`."""

    def step(
        key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        group = query.labels.index(int(key[0]))
        pending, values = (
            pickle.loads(state.get[0]) if state.exists else (Pending(), {"stream": group})
        )
        sources = query.sources_of(group)
        runs = _unpacked_runs(query, frames)
        for beat in runs.pop(BEAT_SRC, []):
            for src, ts, rows in zip(*beat.values(), strict=True):
                if src in sources:
                    pending.promise(int(src), int(ts), int(rows))
        for src, new_runs in runs.items():
            pending.add(src, new_runs, promised=query.beats)
        pending.settle()
        complete = pending.take(sources)
        if complete:
            prefix = separate(complete, query.kinds, query.n_kinds, query.payload)
            output = KERNELS[query.workload](values, prefix, query.keys)
        else:
            output = {}
        state.update((pickle.dumps((pending, values), protocol=5),))
        packed_rows = _pack_output(query, output)
        if query.beats:
            packed_rows += _pack_output(query, _acknowledgement(query, group, pending))
        yield pd.DataFrame({"rows": packed_rows})

    return step


def _pack_output(query: StatefulQuery, output: Output) -> list[bytes]:
    columns = [output[name].astype(dtype) for name, dtype in query.output] if output else []
    size = len(columns[0]) if columns else 0
    return [
        b"".join(column[begin : begin + RESULT_ROWS].tobytes() for column in columns)
        for begin in range(0, size, RESULT_ROWS)
    ]


def _acknowledgement(query: StatefulQuery, group: int, pending: Pending) -> Output:
    """Return a row for each stream of a group, with the number of its processed events."""
    sources = (group,) if query.per_stream else tuple(range(len(query.kinds)))
    rows = {name: np.zeros(len(sources)) for name, _ in query.output}
    rows["ts"] = np.array([pending.released.get(src, 0) for src in sources])
    rows["src"] = BEAT_SRC - np.array(sources)
    return rows


def unpacker(
    query: StatefulQuery,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the step that turns the operator's packed output into rows.

    The operator packs its output because rows are expensive in `applyInPandasWithState`, which adds a padded column of
    Python objects for the state to every output.
    """
    names = [name for name, _ in query.output]

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for packed in batch.column(0):
                run = unpack(query.output, packed.as_buffer())
                yield pa.RecordBatch.from_arrays(
                    [pa.array(run[name]) for name in names], names=names
                )

    return rows


def _unpacked_runs(query: StatefulQuery, frames: Iterator[pd.DataFrame]) -> dict[int, list[Run]]:
    runs: dict[int, list[Run]] = {}
    for frame in frames:
        for src, events in zip(frame["src"], frame["events"], strict=True):
            columns = BEAT if src == BEAT_SRC else query.columns[src]
            runs.setdefault(src, []).append(unpack(columns, events))
    return runs
