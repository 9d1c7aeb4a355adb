"""The adapter of the data-frame lines.

No engine at all: the whole input at once, no stream, no heartbeat, no latency of an output. Yet it
is what batch work is measured by: an engine that is slower has to say what the order of events
buys.
"""

import numpy as np

from streamlab.engines.available_memory import most_reserved_bytes
from streamlab.engines.conditions import MEMORY, WHOLE, Conditions
from streamlab.engines.dataframe import temporary_memory
from streamlab.engines.dataframe.streams import Streams, streams_of
from streamlab.engines.protocol import Task, Variant
from streamlab.engines.tables import TableEngine, modules_in
from streamlab.workloads.model import DGSProgram, Query

TEMPORARIES = 2
"""For how many times the input and the answer there is memory before NumPy computes."""


class DataframeEngine(TableEngine):
    """Runs a workload as the array operations that a user would write for it."""

    name = "dataframe"
    known_variants = (
        Variant(
            name="numpy",
            summary="array operations on one thread; the whole input at once",
            models=(DGSProgram, Query),
            conditions=Conditions(unit=WHOLE, origin=MEMORY),
        ),
    )
    queries = modules_in("streamlab.engines.dataframe.lines")
    one_kind = (DGSProgram, Query)
    packages = ("numpy",)

    def tables(self, task: Task) -> Streams:
        """Load the input, and have memory for what NumPy will need."""
        streams = streams_of(task.dataset.load(), task.workload.query_params)
        temporary_memory.keep(min(_temporary_bytes(task, streams), most_reserved_bytes()))
        return streams

    def close(self) -> None:
        """Let the process take and give memory as it does by itself."""
        temporary_memory.release()


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
