"""Adapts hand-written NumPy code to the engine protocol.

NumPy is the baseline of batch work, not a streaming engine: it computes on the whole input at once, without heartbeats
or latencies.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from streamlab.engines.conditions import MEMORY, WHOLE, Conditions
from streamlab.engines.dataframe import queries, temporary_memory
from streamlab.engines.dataframe.streams import Streams
from streamlab.engines.protocol import Task, Variant
from streamlab.engines.tables import TableEngine
from streamlab.workloads.control_group import most_reserved_bytes
from streamlab.workloads.model import DGSProgram, Query

TEMPORARIES = 2
"""Memory to touch before the clock starts, as a multiple of the size of input and answer."""


class DataframeEngine(TableEngine):
    """Runs a workload as the array operations that a user would write."""

    name = "dataframe"
    known_variants = (
        Variant(
            name="numpy",
            summary="array operations on one thread; the whole input at once",
            label="NumPy",
            models=(DGSProgram, Query),
            conditions=Conditions(unit=WHOLE, origin=MEMORY),
            baseline=1,
        ),
    )
    queries: ClassVar[Mapping[str, Callable[..., Any]]] = {
        "event_window": queries.event_window,
        "fraud_detection": queries.fraud_detection,
        "keyed_counter": queries.keyed_counter,
        "page_view_join": queries.page_view_join,
        "scale_join": queries.scale_join,
    }
    one_kind = (DGSProgram, Query)
    packages = ("numpy",)

    def tables(self, task: Task) -> Streams:
        """Load the input, and reserve memory for NumPy's temporaries."""
        streams = Streams.from_input(task.dataset.load(), task.workload.query_params)
        temporary_memory.keep(min(_temporary_bytes(task, streams), most_reserved_bytes()))
        return streams

    def close(self) -> None:
        """Restore the process's normal use of memory."""
        temporary_memory.release()


def _temporary_bytes(task: Task, streams: Streams) -> int:
    """Estimate how many bytes NumPy needs for a task's temporaries."""
    input_bytes = sum(
        column.nbytes
        for _, stream in (*streams.bulk, *streams.separators)
        for column in (stream.ts, stream.tag, *stream.payload.values())
        if isinstance(column, np.ndarray)
    )
    answer_bytes = (task.expected_outputs or 0) * task.workload.program.output.itemsize
    return TEMPORARIES * (input_bytes + answer_bytes)
