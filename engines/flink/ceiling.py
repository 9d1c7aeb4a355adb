"""Measures how fast the source can hand over events that are all due, without work on them."""

import tempfile
from pathlib import Path

import numpy as np

from streamlab.engines import environment
from streamlab.engines.errors import EngineError
from streamlab.engines.flink.build import ENVIRONMENT
from streamlab.engines.flink.options import LOAD_BUFFER_TIMEOUT_MS
from streamlab.engines.flink.process import FlinkProcess, network_mb
from streamlab.engines.flink.task_files import LONG, write_lines

EVENTS = 4_000_000
WARM_UP_EVENTS = 1_000_000
HEAP_MB = 1024


def measure_ceiling() -> float:
    """Run a job of one source and one task that drops all events, and return its events/s.

    A job with more workers has more sources, so this is a lower bound.

    Raises:
        EngineError: Flink's environment is missing, or Flink cannot start.
    """
    reason = environment.unusable_reason("flink", ENVIRONMENT)
    if reason is not None:
        raise EngineError(reason)
    with tempfile.TemporaryDirectory(prefix="flink-ceiling-") as name:
        folder = Path(name)
        empty = np.empty(0)
        columns = {
            "ts": np.arange(EVENTS),
            "due_ns": np.zeros(EVENTS),
            "beat_ts": empty,
            "beat_due_ns": empty,
        }
        for column, values in columns.items():
            values.astype(LONG).tofile(folder / f"0.{column}")
        job = {
            "workload": "nothing",
            "variant": "ceiling",
            "workers": 1,
            "offered": "yes",
            "streams": 1,
            "kinds": 1,
            "kinds_of.0": 0,
            "state": "heap",
            "buffer_timeout_ms": LOAD_BUFFER_TIMEOUT_MS,
            "managed_memory_mb": 16,
            "network_mb": network_mb(1),
            "warm_up_rounds": 2,
            "warm_up_rows.0": WARM_UP_EVENTS,
        }
        write_lines(job, folder)
        process = FlinkProcess(folder, heap_mb=HEAP_MB, workers=1)
        try:
            process.ready()
            took_ns, events = process.ask("go")
            return events * 1e9 / took_ns
        finally:
            process.close()
