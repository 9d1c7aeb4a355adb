"""Stores rows on disk as sorted runs, and reads them in order of time with bounded memory.

A run is an Arrow file of one batch: consecutive rows of the input, sorted by time. Times sampled from all runs divide
time into ranges. The rows of a range are consecutive in each run and are sorted in memory, so tasks can read ranges in
parallel. Runs are memory-mapped.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.arrow import Column, arrow_array, column_of
from streamlab.workloads.model import Block, ListColumn

RANGE_ROWS = 1 << 18
"""Rows of a range: 6 MB if a row has 24 bytes."""
SAMPLE_ROWS = 1 << 10
"""Rows from one sampled time of a run to the next. A range may have up to this many additional rows per run."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A file of rows in order of time.

    Attributes:
        path: the file.
        rows: number of rows.
        sample: times of each `SAMPLE_ROWS`th row and of the last row, ascending.
        number_files: for each column with indices of texts: a file with the number of each text, which replaces the
            index.
        row_offsets: for each column with row numbers: the number to add.
    """

    path: Path
    rows: int
    sample: Ints
    number_files: Mapping[str, Path] = field(default_factory=dict)
    row_offsets: Mapping[str, int] = field(default_factory=dict)

    def open(self) -> "OpenRun":
        """Return all columns, memory-mapped."""
        numbers = {name: map_columns(path)[NUMBER] for name, path in self.number_files.items()}
        columns = map_columns(self.path)
        return OpenRun(columns=columns, numbers=numbers, row_offsets=self.row_offsets)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """The memory-mapped columns of a run.

    Attributes:
        columns: the stored columns.
        numbers: for each column with indices of texts: the number of each text.
        row_offsets: for each column with row numbers: the number to add.
    """

    columns: Mapping[str, Column]
    numbers: Mapping[str, Column]
    row_offsets: Mapping[str, int]

    def rows(self, begin: int, end: int) -> dict[str, Column]:
        """Return rows [begin, end), with texts' numbers in place of their indices, and with shifted row numbers."""
        block: dict[str, Column] = {
            name: column[begin:end] for name, column in self.columns.items()
        }
        for name, numbers in self.numbers.items():
            column = block[name]
            if isinstance(column, ListColumn):
                packed = column.packed()
                block[name] = ListColumn(packed.offsets, np.asarray(numbers)[packed.values])
            else:
                block[name] = np.asarray(numbers)[column]
        return block | {
            name: np.asarray(block[name]) + offset for name, offset in self.row_offsets.items()
        }


NUMBER = "number"
"""The only column of `Run.number_files`."""


def write_columns(path: Path, block: Block) -> None:
    """Write columns to a file."""
    arrays = [arrow_array(column) for column in block.values()]
    batch = pa.RecordBatch.from_arrays(arrays, list(block))
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)


def map_columns(path: Path) -> dict[str, Column]:
    """Return the columns of a file, memory-mapped."""
    with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        batch = reader.get_batch(0)
    columns = zip(batch.schema.names, batch.columns, strict=True)
    return {name: column_of(column) for name, column in columns}


def write_run(path: Path, block: Block) -> Run:
    """Write rows as a run. Rows of equal time keep their order."""
    ts = np.asarray(block["ts"])
    if np.any(np.diff(ts) < 0):
        order = np.argsort(ts, kind="stable")
        block, ts = {name: take_rows(column, order) for name, column in block.items()}, ts[order]
    write_columns(path, block)
    return Run(path=path, rows=len(ts), sample=np.append(ts[::SAMPLE_ROWS], ts[-1:]))


class SortedRuns:
    """Rows in order of time. Rows of equal time are in the order of runs, and within a run in its order.

    Args:
        runs: runs with equal columns.
        ts: a single time for all rows; None for the times in the runs.

    Attributes:
        count: number of rows.
    """

    def __init__(self, runs: Sequence[Run], ts: int | None = None) -> None:
        filled = [run for run in runs if run.rows]
        self._runs, self._ts = filled, ts
        self.count = sum(run.rows for run in filled)
        self._first = np.array([run.sample[0] for run in filled], np.int64)
        self._last = np.array([run.sample[-1] for run in filled], np.int64)
        samples = np.sort(np.concatenate([np.empty(0, np.int64), *(r.sample for r in filled)]))
        bounds, repeats = np.unique(samples[:: RANGE_ROWS // SAMPLE_ROWS], return_counts=True)
        ends = samples[-1:] + 1
        self._bounds = np.unique(np.concatenate([bounds, bounds[repeats > 1] + 1, ends]))
        self._ranks = np.zeros(len(self._bounds), np.int64)
        """The number of rows before each bound."""
        for run in filled:
            ts_of_run = np.asarray(map_columns(run.path)["ts"])
            self._ranks += np.searchsorted(ts_of_run, self._bounds)

    def blocks(self, begin: int = 0, end: int | None = None) -> Iterator[Block]:
        """Yield the rows from `begin` to before `end` in order of time, in blocks."""
        end = self.count if end is None else end
        opened: dict[int, OpenRun] = {}
        first = max(0, int(np.searchsorted(self._ranks, begin, side="right")) - 1)
        for index in range(first, len(self._bounds) - 1):
            row = int(self._ranks[index])
            if row >= end:
                return
            for block in self._range(opened, *self._bounds[index : index + 2].tolist()):
                rows = len(block["ts"])
                cut = slice(max(0, begin - row), max(0, min(rows, end - row)))
                if cut.start < cut.stop:
                    yield {name: column[cut] for name, column in block.items()}
                row += rows

    def _range(self, opened: dict[int, OpenRun], low: int, high: int) -> Iterator[Block]:
        """Yield the rows from time `low` to before `high`, in several blocks if all have the same time.

        Open runs stay in `opened`, by index, until a range contains their last row.
        """
        pieces = []
        for index in np.flatnonzero((self._first < high) & (self._last >= low)).tolist():
            if index not in opened:
                opened[index] = self._runs[index].open()
            run = opened[index]
            begin, end = np.searchsorted(np.asarray(run.columns["ts"]), [low, high]).tolist()
            if self._last[index] < high:
                del opened[index]
            if high - low > 1:
                pieces.append(self._set_times(run.rows(begin, end)))
                continue
            for block_begin in range(begin, end, RANGE_ROWS):
                block_end = min(block_begin + RANGE_ROWS, end)
                yield self._set_times(run.rows(block_begin, block_end))
        if pieces:
            block = join_blocks(pieces)
            ts = np.asarray(block["ts"])
            if np.any(np.diff(ts) < 0):
                order = np.argsort(ts, kind="stable")
                block = {name: take_rows(column, order) for name, column in block.items()}
            yield block

    def _set_times(self, block: dict[str, Column]) -> Block:
        """Set the times of a block, in place, if all rows have a single time; return the block."""
        if self._ts is not None:
            block["ts"] = np.full(len(block["ts"]), self._ts, np.int64)
        return block


def join_blocks(blocks: Sequence[Block]) -> Block:
    """Return the rows of blocks with equal columns, one after another."""
    if len(blocks) == 1:
        return blocks[0]
    joined: dict[str, Column] = {}
    for name, first in blocks[0].items():
        columns = [block[name] for block in blocks]
        lists = [column for column in columns if isinstance(column, ListColumn)]
        if isinstance(first, ListColumn):
            joined[name] = ListColumn.concatenate(lists, first.dtype)
        else:
            joined[name] = np.concatenate([np.asarray(column) for column in columns])
    return joined


def take_rows(column: Column, rows: Ints) -> Column:
    """Return a copy of some rows of a column."""
    if isinstance(column, ListColumn):
        return column.take(rows)
    return np.array(column[rows])


def select_rows(block: Block, mask: npt.NDArray[np.bool_]) -> Block:
    """Return the rows of a block for which a mask is set."""
    rows = np.flatnonzero(mask)
    return {name: take_rows(column, rows) for name, column in block.items()}
