"""Splits an offered load into files, at the same due times in all streams, and stages them.

A *drop* has the events that become due in one period of `file_ms`: one file for each stream with events, and one
*beat* file with a row for each stream.
Due times never decrease along the total order, so the events of all drops so far are a prefix of it. A beat promises
that no event of the stream before an event time follows. The beat also has the number of the stream's rows so far, so
that the operator can detect a beat whose files have not all arrived.
A period without events has no drop.
"""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamlab.engines.spark.files import write_file
from streamlab.engines.spark.query import SparkQuery
from streamlab.engines.spark.streaming.file_source import Dropper
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model.streams.stream import IntArray

BEATS = "beats"
"""Folder of the beat files."""
CEILING_FILE_EVENTS = 16_384
"""Events of a file in the measurement of the ceiling: the size at 130,000 events/s with two streams and 250 ms."""
CEILING_DROP_FILES = 3
"""Files of a drop: two streams and the beats."""
CEILING_FILES = 6_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Drops:
    """The schedule of drops, and the events in each.

    Attributes:
        planned_ns: int64[k], ascending: when each drop is complete; never after the end of the load.
        rows: per stream, int64[k + 1]: the events of drop i are rows[i] to rows[i + 1].
        beats: per stream, int64[k]: no event before this event time follows drop i.
    """

    planned_ns: IntArray
    rows: tuple[IntArray, ...]
    beats: tuple[IntArray, ...]

    def __len__(self) -> int:
        return len(self.planned_ns)

    @property
    def events(self) -> IntArray:
        """Number of events of each drop."""
        total: IntArray = np.sum([np.diff(rows) for rows in self.rows], axis=0, dtype=np.int64)
        return total


def cut(ts: Sequence[IntArray], due_ns: Sequence[IntArray], end_ns: int, period_ns: int) -> Drops:
    """Split streams into drops by due time; `ts` and `due_ns` are per stream, and no event is due after `end_ns`."""
    periods = np.unique(np.concatenate([due // period_ns for due in due_ns]))
    planned = np.minimum((periods + 1) * period_ns, end_ns)
    rows = tuple(
        np.concatenate([[0], np.searchsorted(due, (periods + 1) * period_ns)]) for due in due_ns
    )
    # The last event of each prefix in total order is the latest; of events of equal time, the last stream's.
    begin = np.iinfo(np.int64).min
    latest = np.full(len(periods), begin)
    last_src = np.zeros(len(periods), dtype=np.int64)
    for src, times in enumerate(ts):
        if len(times):
            last_ts = np.where(rows[src][1:] > 0, times[rows[src][1:] - 1], begin)
            last_src = np.where((last_ts >= latest) & (last_ts > begin), src, last_src)
            latest = np.maximum(latest, last_ts)
    # Streams before that of the last event have no further events at its time.
    beats = tuple(latest + (src < last_src) for src in range(len(ts)))
    return Drops(planned_ns=planned, rows=rows, beats=beats)


def stage(
    query: SparkQuery, dataset: Dataset, drops: Drops, staging: Path, watched: Path
) -> list[list[tuple[str, str]]]:
    """Write the files of all drops to a staging folder, and make the folders that Spark watches.

    Returns for each drop the source and target of its files, the beat file last.
    """
    moves: list[list[tuple[str, str]]] = [[] for _ in range(len(drops))]

    def put(table: pa.Table, folder: str, number: int) -> None:
        name = f"part-{number:06d}.parquet"
        path = staging / folder / name
        write_file(table, path, number)
        moves[number].append((str(path), str(watched / folder / name)))

    parts = query.parts(dataset)
    for folder in (*(part.folder for part in parts), BEATS):
        (staging / folder).mkdir(parents=True)
        (watched / folder).mkdir(parents=True)
    for part, rows in zip(parts, drops.rows, strict=True):
        table = query.table(dataset, part)
        for number in np.flatnonzero(np.diff(rows)).tolist():
            begin, end = int(rows[number]), int(rows[number + 1])
            put(table.slice(begin, end - begin), part.folder, number)
    for number in range(len(drops)):
        beat = {
            "src": np.arange(len(parts), dtype=np.int64),
            "ts": np.array([beats[number] for beats in drops.beats]),
            "rows": np.array([rows[number + 1] for rows in drops.rows]),
        }
        put(pa.table(beat), BEATS, number)
    return moves


def measure_ceiling() -> float:
    """Drop files that are all due at once, and return the events/s in them, without beat files.

    Every third file counts as a beat file. All files are links to the same rows, because a rename reads no rows.
    """
    with tempfile.TemporaryDirectory(prefix="spark-ceiling-") as folder:
        staging, watched = Path(folder) / "staging", Path(folder) / "watched"
        staging.mkdir()
        watched.mkdir()
        rows = np.arange(CEILING_FILE_EVENTS)
        pq.write_table(pa.table({"ts": rows, "value": rows}), staging / "rows")
        names = [f"part-{index:06d}.parquet" for index in range(CEILING_FILES)]
        for name in names:
            (staging / name).hardlink_to(staging / "rows")
        moves = [(str(staging / name), str(watched / name)) for name in names]
        drops = [
            moves[begin : begin + CEILING_DROP_FILES]
            for begin in range(0, CEILING_FILES, CEILING_DROP_FILES)
        ]
        dropper = Dropper([0] * len(drops), drops, Path(folder) / "plan.json")
        try:
            dropper.start(time.monotonic_ns())
            took_ns = dropper.result().times_ns[-1]
        finally:
            dropper.close()
    events = CEILING_FILE_EVENTS * len(drops) * (CEILING_DROP_FILES - 1)
    return events * 1e9 / took_ns
