"""Measures how fast the process that drops files can hand events over without a consumer."""

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamlab.engines.spark.streaming.file_source import Dropper

EVENTS_PER_FILE = 16_384
"""Small: the size at 130,000 events/s with two streams and files of 250 ms."""
FILES_PER_DROP = 3
FILES = 6_000


def measure_ceiling() -> float:
    """Drop files that are all due at once, and return the events/s in them, without beat files.

    Every third file counts as a beat file. Each file is a link to the same rows, since a rename does not read them.
    """
    with tempfile.TemporaryDirectory(prefix="spark-ceiling-") as folder:
        staging, watched = Path(folder) / "staging", Path(folder) / "watched"
        staging.mkdir()
        watched.mkdir()
        rows = np.arange(EVENTS_PER_FILE)
        pq.write_table(pa.table({"ts": rows, "value": rows}), staging / "rows")
        names = [f"part-{place:06d}.parquet" for place in range(FILES)]
        for name in names:
            (staging / name).hardlink_to(staging / "rows")
        moves = [(str(staging / name), str(watched / name)) for name in names]
        drops = [moves[at : at + FILES_PER_DROP] for at in range(0, FILES, FILES_PER_DROP)]
        dropper = Dropper([0] * len(drops), drops, Path(folder) / "plan.json")
        try:
            dropper.start(time.monotonic_ns())
            took_ns = dropper.result().times_ns[-1]
        finally:
            dropper.close()
    events = EVENTS_PER_FILE * len(drops) * (FILES_PER_DROP - 1)
    return events * 1e9 / took_ns
