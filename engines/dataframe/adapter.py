"""The adapter of the data-frame lines.

No engine at all: the whole input at once, no stream, no heartbeat, no latency of an output. Yet it
is what batch work is measured by: an engine that is slower has to say what the order of events
buys.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from engines.available_memory import most_reserved_bytes
from engines.base import BatchEngine
from engines.conditions import MEMORY, WHOLE, Conditions
from engines.dataframe import kept_memory
from engines.dataframe.streams import Streams, mixed, streams_of
from engines.protocol import Property, Task, Variant
from workloads.model import Columns, DGSProgram, Query

WORKLOADS = ("event_window", "fraud_detection", "keyed_counter", "page_view_join", "scale_join")
"""For which there is a line."""
LINES = {name: f"engines.dataframe.numpy_lines.{name}" for name in WORKLOADS}
TEMPORARIES = 2
"""For how many times the input and the answer there is memory before NumPy computes."""

NUMPY = Variant(
    name="numpy",
    summary="array operations on one thread; the whole input at once",
    models=(DGSProgram, Query),
    lacking=dict.fromkeys(
        ("forward", "longest_tweet_per_hashtag", "nyse_hedge", "paircount", "wordcount"),
        "no line is written for it",
    ),
    conditions=Conditions(unit=WHOLE, origin=MEMORY),
)


class DataframeEngine(BatchEngine):
    """Runs a workload as the array operations that a user would write for it."""

    name = "dataframe"
    known_variants = (NUMPY,)
    queries = LINES
    packages = ("numpy",)

    def refused(self, task: Task) -> str | None:
        """Refuse streams that a user would have as two tables."""
        stream = mixed(task.dataset)
        if stream is not None:
            return (
                f"stream {stream} carries bulk events and markers; the data-frame lines take "
                "streams of one kind each, as tables"
            )
        return None

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return PIP1 to PIP3: nothing here is a program of events."""
        lost = Property(holds=False, why="written for this workload, not derived from its program")
        free = Property(holds=True, why="no worker and no partition is named")
        return {"PIP1": free, "PIP2": free, "PIP3": lost}

    def load(self, task: Task) -> Any:
        """Import the line, load the input, and have memory for what NumPy will need."""
        line = import_module(LINES[task.workload.name]).line
        streams = streams_of(task.dataset.load(), task.workload.query_params)
        kept_memory.keep(min(_temporary_bytes(task, streams), most_reserved_bytes()))
        return line, streams

    def compute(self, task: Task, data: Any) -> Any:
        """Compute the whole answer, as one table for each partition of the outputs."""
        line, streams = data
        return line(streams)

    def columns(self, task: Task, answer: Any) -> Columns:
        """Return the tables merged by event time, then by stream."""

        def column(name: str) -> npt.NDArray[Any]:
            return np.concatenate([part[name] for part in answer])

        order = np.lexsort((column("src"), column("ts")))
        return {name: column(name)[order] for name in task.workload.program.output.names or ()}

    def plan(self, task: Task) -> str:
        """Say what it is."""
        return "numpy: the whole input at once"

    def close(self) -> None:
        """Let the process take and give memory as it does by itself."""
        kept_memory.release()


def _temporary_bytes(task: Task, streams: Streams) -> int:
    """Return for how much memory a line asks, about: its answer, and as much as its input."""
    read = sum(
        column.nbytes
        for _, stream in (*streams.bulk, *streams.markers)
        for column in (stream.ts, stream.tag, *stream.payload.values())
        if isinstance(column, np.ndarray)
    )
    answer = (task.expected_outputs or 0) * task.workload.program.output.itemsize
    return TEMPORARIES * (read + answer)
