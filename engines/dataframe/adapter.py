"""The adapter of the data-frame lines.

No engine at all: the whole input at once, no stream, no heartbeat, no latency of an output. Yet it
is what batch work is measured by: an engine that is slower has to say what the order of events
buys.
"""

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from engines.available_memory import most_reserved_bytes
from engines.conditions import MEMORY, WHOLE, Conditions
from engines.dataframe import kept_memory
from engines.dataframe.streams import Streams, mixed, streams_of
from engines.errors import EngineCrashError, UnsupportedError
from engines.protocol import Measured, Property, Task, Variant
from workloads.model import Columns, DGSProgram, Query

NUMPY, POLARS = "numpy", "polars"
_BOTH = ("event_window", "fraud_detection", "keyed_counter", "page_view_join")
WORKLOADS = {NUMPY: (*_BOTH, "scale_join"), POLARS: _BOTH}
"""For which there is a line, by variant."""
POOL = "POLARS_MAX_THREADS"
"""Environment variable that Polars reads once, when it is imported."""
TEMPORARIES = 2
"""For how many times the input and the answer there is memory before NumPy computes."""

_LACKING = dict.fromkeys(
    ("forward", "longest_tweet_per_hashtag", "nyse_hedge", "paircount", "wordcount"),
    "no line is written for it",
)
_CONDITIONS = Conditions(unit=WHOLE, origin=MEMORY)
VARIANTS = (
    Variant(
        name=NUMPY,
        summary="array operations on one thread; the whole input at once",
        models=(DGSProgram, Query),
        lacking=_LACKING,
        conditions=_CONDITIONS,
    ),
    Variant(
        name=POLARS,
        summary="data-frame operations on Polars' pool of threads; the whole input at once",
        models=(DGSProgram,),
        conditions=_CONDITIONS,
    ),
)


class DataframeEngine:
    """Runs a workload as the array operations that a user would write for it."""

    name: ClassVar[str] = "dataframe"

    def version(self) -> str:
        """Return the versions of both libraries."""
        return f"numpy {version('numpy')}, polars {version('polars')}"

    def variants(self) -> tuple[Variant, ...]:
        """Return `numpy` and `polars`."""
        return VARIANTS

    def wrong_options(self, variant: str, options: Mapping[str, object]) -> str | None:
        """Refuse all options."""
        if options:
            return f"the data-frame lines have no options, got {', '.join(sorted(options))}"
        return None

    def unsupported(self, task: Task) -> str | None:
        """Return why a task cannot be run, or None."""
        known = [variant.name for variant in VARIANTS]
        if task.variant not in known:
            return f"no variant {task.variant!r}; there are {', '.join(known)}"
        written = WORKLOADS[task.variant]
        if task.workload.name not in written:
            return (
                f"no line of {task.variant} is written for {task.workload.name}; there are "
                f"{', '.join(written)}"
            )
        if task.load is not None:
            return "the data-frame lines take no load: they compute on the whole input at once"
        wrong = self.wrong_options(task.variant, task.options)
        if wrong is not None:
            return wrong
        stream = mixed(task.dataset)
        if stream is not None:
            return (
                f"stream {stream} carries bulk events and markers; the data-frame lines take "
                "streams of one kind each, as tables"
            )
        if task.variant == NUMPY:
            return (
                None if task.workers == 1 else f"numpy has one thread; got {task.workers} workers"
            )
        return _other_pool(task.workers)

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return PIP1 to PIP3: nothing here is a program of events."""
        lost = Property(holds=False, why="written for this workload, not derived from its program")
        free = Property(holds=True, why="no worker and no partition is named")
        return {"PIP1": free, "PIP2": free, "PIP3": lost}

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Return None: no variant takes a load."""
        return None

    def prepare(self, task: Task) -> "PreparedLine":
        """Load the input into tables, and import the line and its library.

        Raises:
            UnsupportedError: see `unsupported`.
        """
        reason = self.unsupported(task)
        if reason is not None:
            raise UnsupportedError(reason)
        if task.variant == POLARS:
            os.environ[POOL] = str(task.workers)
        module = import_module(f"engines.dataframe.{task.variant}_lines.{task.workload.name}")
        streams = streams_of(task.dataset.load(), task.workload.query_params)
        prepared = PreparedLine(task, module.line, _tables(streams, task.variant))
        if task.variant == NUMPY:
            kept_memory.keep(min(_temporary_bytes(task, streams), most_reserved_bytes()))
        return prepared


def _tables(streams: Streams, variant: str) -> Any:
    if variant == NUMPY:
        return streams
    from engines.dataframe.polars_lines.tables import tables

    return tables(streams)


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


def _other_pool(workers: int) -> str | None:
    """Return why Polars cannot have so many threads: it is there already, with others."""
    polars = sys.modules.get("polars")
    threads = workers if polars is None else int(polars.thread_pool_size())
    if threads == workers:
        return None
    return f"polars has {threads} threads in this process already, not {workers}"


class PreparedLine:
    """Tables in memory, and what to do with them."""

    def __init__(self, task: Task, line: Callable[[Any], list[Any]], tables: Any) -> None:
        """Hold the tables; nothing runs yet."""
        self._line = line
        self._tables = tables
        self._keeps = task.variant == NUMPY
        self._parts: list[Any] = []
        self._events = task.dataset.events
        self._plan = f"{task.variant}: the whole input at once"
        output = task.workload.program.output
        self._output = {name: output[name] for name in output.names or ()}

    def run(self) -> Measured:
        """Compute the whole answer, as one table a stream.

        Raises:
            EngineCrashError: the library failed; its exception is the cause.
        """
        try:
            self._parts = self._line(self._tables)
        except Exception as error:
            raise EngineCrashError(f"{self._plan}: {type(error).__name__}: {error}") from error
        return Measured(events=self._events, plan=self._plan)

    def answer(self) -> Columns:
        """Return all outputs: the tables of the streams merged by event time, then by stream."""
        ts, src = self._column("ts"), self._column("src")
        order = np.lexsort((src, ts))
        return {
            name: self._column(name)[order].astype(dtype, copy=False)
            for name, dtype in self._output.items()
        }

    def close(self) -> None:
        """Let go of the input; there are no processes, and the threads are the library's."""
        self._tables = None
        if self._keeps:
            kept_memory.release()

    def _column(self, name: str) -> npt.NDArray[Any]:
        return np.concatenate([np.asarray(part[name]) for part in self._parts])
