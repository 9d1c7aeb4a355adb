"""Provides base classes for engines, with defaults for most of the adapter protocol.

`BatchEngine` computes on the whole input at once.
`StreamingEngine` takes one event after the other, at full speed or under an offered load.
`TableEngine` (`engines/tables.py`) answers from tables; `BaseEngine` serves all others.
Authors import these from `streamlab.engine`; docs/extending.md shows how.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from streamlab.engines import environment
from streamlab.engines.conditions import MEMORY, PYTHON, RECORD, WHOLE, Conditions
from streamlab.engines.declared_queries import generated_plan
from streamlab.engines.environment import Environment
from streamlab.engines.errors import EngineCrashError, UnsupportedError
from streamlab.engines.options import OptionError, check_options
from streamlab.engines.pacer import Pacer
from streamlab.engines.protocol import (
    IntArray,
    Measured,
    OfferedLoad,
    Prepared,
    Property,
    Task,
    Variant,
)
from streamlab.engines.recording import OpenRun, measured
from streamlab.workloads.declarative.declaration import Declaration
from streamlab.workloads.model import Columns, Input, Program, Workload
from streamlab.workloads.model.errors import place_of
from streamlab.workloads.model.operators.program import arrival_tick_ns
from streamlab.workloads.model.streams.records import Emitter
from streamlab.workloads.model.streams.total_order import merge

CHUNK_UNDER_LOAD = 256
"""Number of events that are converted from columns at once; small, because due events wait for the conversion."""


class BaseEngine(ABC):
    """Implements the adapter protocol with defaults; a subclass sets a name and `start`.

    Attributes:
        name: the engine's name; equal to its entry point in the group `lab.engines`.
        interface: the version of `streamlab.engine` that the class is written for.
        known_variants: the engine's variants; the first that runs a workload's model is the default.
        queries: one hand-written query per workload name; None if the engine runs any program of its variants' models.
        max_workers: the highest degree of parallelism; None if unbounded.
        packages: Python packages whose versions make up the engine's version.
        environment: the packages of a separate environment; None if the lab's packages suffice.
    """

    name: ClassVar[str]
    interface: ClassVar[int] = 1
    known_variants: ClassVar[tuple[Variant, ...]]
    queries: ClassVar[Mapping[str, object] | None] = None
    max_workers: ClassVar[int | None] = 1
    packages: ClassVar[tuple[str, ...]] = ()
    environment: ClassVar[Environment | None] = None

    @abstractmethod
    def start(self, task: Task) -> Prepared:
        """Load, compile, start and warm up a supported task; nothing here is timed."""

    def refused(self, task: Task) -> str | None:
        """Return why a task cannot run although all declarations allow it, or None."""
        return None

    def version(self) -> str:
        """Return the versions of `packages`."""
        return environment.versions(self.name, self.packages) or "not stated"

    def variants(self) -> tuple[Variant, ...]:
        """Return `known_variants`, with `queries` as the workloads of each variant that does not state its own.

        Variants that generate queries state no workloads and stay unchanged.
        """
        if self.queries is None:
            return self.known_variants
        written_workloads = frozenset(self.queries)
        return tuple(
            v
            if v.generates or v.written_for
            else replace(v, written_for=written_workloads - {*v.lacking})
            for v in self.known_variants
        )

    def unsupported(self, task: Task) -> str | None:
        """Return the first reason why a task cannot run, or None.

        Checks the declarations first, so that users build an environment only for tasks that can run. Then checks the
        environment, then calls `refused`.
        """
        reason = self._check_declarations(task)
        if reason is not None:
            return reason
        if self.environment is not None:
            unusable = environment.unusable_reason(self.name, self.environment)
            if unusable is not None:
                return unusable
        return self.refused(task)

    def _check_declarations(self, task: Task) -> str | None:
        """Return why the engine's declarations exclude a task, or None."""
        variants = {variant.name: variant for variant in self.variants()}
        if task.variant not in variants:
            return f"no variant {task.variant!r}; engine {self.name} has {', '.join(variants)}"
        variant = variants[task.variant]
        reason = variant.lacks(task.workload)
        if reason is not None:
            return f"{self.name}/{task.variant} {reason}"
        if task.lacks_load is not None:
            return task.lacks_load
        if task.load is not None and not variant.takes_load:
            return f"{task.variant} of {self.name} takes no offered load"
        try:
            check_options(self, variant, task.options)
        except OptionError as error:
            return str(error)
        if self.max_workers is not None and task.workers > self.max_workers:
            workers = "worker" if self.max_workers == 1 else "workers"
            return f"{self.name} has at most {self.max_workers} {workers}, got {task.workers}"
        return None

    def kept_folders(self) -> Sequence[Path]:
        """Return an empty tuple: the engine keeps no files between trials."""
        return ()

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return that the engine does not declare the platform-independence properties PIP1 to PIP3."""
        undeclared = Property(holds=False, why=f"engine {self.name} declares no properties")
        return {"PIP1": undeclared, "PIP2": undeclared, "PIP3": undeclared}

    def query_text(self, workload: Workload, variant: str) -> str | None:
        """Return the text of the query that a variant runs for a workload; None if it runs no query."""
        return None

    def generated_plan(self, declaration: Declaration) -> str:
        """Return a note for users that the query is generated, and which of its parts are slow for that reason."""
        return generated_plan(declaration)

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Return None, because the engine takes no load or has a virtual source."""
        return None

    def prepare(self, task: Task) -> Prepared:
        """Start a task, or raise UnsupportedError with the reason of `unsupported`."""
        reason = self.unsupported(task)
        if reason is not None:
            raise UnsupportedError(reason)
        return self.start(task)


@contextmanager
def _crash_errors(subject: str, remedy: str = "") -> Iterator[None]:
    """Turn exceptions of the engine's or the program's code into EngineCrashError, but let MemoryError pass."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise EngineCrashError(
            f"{subject} {type(error).__name__}: {error}, in {place_of(error)}{remedy}"
        ) from error


class BatchEngine(BaseEngine):
    """Computes the whole answer from the whole input, which is in memory."""

    known_variants: ClassVar[tuple[Variant, ...]] = (
        Variant(
            name="batch",
            summary="the whole input at once, from memory",
            conditions=Conditions(unit=WHOLE, origin=MEMORY),
        ),
    )

    def load(self, task: Task) -> Any:
        """Return the input for `compute`; not timed. The default returns columns in memory."""
        return task.dataset.load()

    def compute(self, task: Task, data: Any) -> Any:
        """Return the answer for the data that `load` returned; this call is timed.

        The default calls the workload's function in `queries`; `task.workload` has the query parameters.
        """
        assert self.queries is not None, "an engine without queries computes by itself"
        query = self.queries[task.workload.name]
        assert callable(query), "an engine whose queries are not functions computes by itself"
        return query(task, data)

    def columns(self, task: Task, answer: Any) -> Mapping[str, object]:
        """Convert the answer of `compute` to columns by name, in output order; not timed."""
        columns: Mapping[str, object] = answer
        return columns

    def plan(self, task: Task) -> str | None:
        """Return a description of how a task is run, or None."""
        return None

    def close(self) -> None:
        """Release the engine's resources other than the data; may be called twice."""

    def start(self, task: Task) -> Prepared:
        """Load the input."""
        return PreparedBatch(self, task, self.load(task))


class PreparedBatch:
    """Holds an input in memory and the engine that computes on it."""

    def __init__(self, engine: BatchEngine, task: Task, data: Any) -> None:
        """Store the data; nothing runs yet."""
        self._engine = engine
        self._task = task
        self._data = data
        self._answer: Any = None

    def run(self) -> Measured:
        """Compute the answer.

        Raises:
            EngineCrashError: `compute` raised; its exception is the cause.
            MemoryError: memory ran out.
        """
        task = self._task
        with _crash_errors(f"{self._engine.name}, {task.variant}:"):
            self._answer = self._engine.compute(task, self._data)
        return Measured(events=task.dataset.events, plan=self._engine.plan(task))

    def answer(self) -> Columns:
        """Return all outputs, with the types of the program's output.

        Raises:
            EngineCrashError: a column is missing, has nulls, or has values that its type cannot hold.
        """
        output = self._task.workload.program.output
        columns = self._engine.columns(self._task, self._answer)
        return {name: self._exact(name, columns, output[name]) for name in output.names or ()}

    def _exact(self, name: str, columns: Mapping[str, object], dtype: np.dtype[Any]) -> Any:
        """Convert a column to the output's dtype; raise EngineCrashError if that would change a value."""
        try:
            values = np.asanyarray(columns[name])
        except Exception as error:  # Table libraries raise exceptions of their own.
            raise EngineCrashError(
                f"{self._engine.name}: the answer, of type {type(columns).__name__}, has no "
                f"column {name}; return a mapping with the columns "
                f"{', '.join(self._task.workload.program.output.names or ())}"
            ) from error
        if np.ma.is_masked(values):
            raise EngineCrashError(f"{self._engine.name}: column {name} of the answer has nulls")
        cast = np.asarray(values, dtype=dtype)
        if (
            dtype.kind in "iub"
            and values.dtype.kind in "iubfO"
            and not np.array_equal(cast, values)
        ):
            row = int(np.flatnonzero(cast != values)[0])
            raise EngineCrashError(
                f"{self._engine.name}: column {name} of the answer has {values[row]!r} in row "
                f"{row}; expected {dtype}"
            )
        return cast

    def close(self) -> None:
        """Release the data and the engine's resources."""
        self._data = self._answer = None
        self._engine.close()


class StreamingEngine(BaseEngine):
    """Takes one event after the other, in total order, as soon as it is due."""

    known_variants: ClassVar[tuple[Variant, ...]] = (
        Variant(
            name="streaming",
            summary="one event at a time, in total order",
            takes_load=True,
            conditions=Conditions(unit=RECORD, origin=MEMORY, also_timed=(PYTHON,)),
        ),
    )

    @abstractmethod
    def process(self, task: Task, events: Iterable[Any], out: Emitter) -> None:
        """Take all events and emit all outputs (`out.emit(ts, ...)`); this call is timed.

        Args:
            task: the task to run.
            events: named tuples with `ts`, `kind`, `key` and the payload; for programs of the other models, the
                events that their functions take. Under an offered load the iterator waits until the next event is
                due. Requesting the next event marks the previous one as done.
            out: takes the outputs. Outputs emitted before the next event is requested are attributed to the last
                event. If the input is truncated or flushed at `task.dataset.until_ts`, the answer includes the windows
                that end before that time.
        """

    def start(self, task: Task) -> Prepared:
        """Load the input."""
        return PreparedStream(
            lambda events, out: self.process(task, events, out),
            task.workload.program,
            task.dataset.load(),
            task.load,
            subject=f"engine {self.name}, on {task.workload.name},",
        )


class PreparedStream:
    """Holds a loaded input, ready to be processed event by event."""

    def __init__(
        self,
        process: Callable[[Iterable[Any], Emitter], None],
        program: Program,
        data: Input,
        load: OfferedLoad | None = None,
        *,
        subject: str,
        remedy: str = "",
        plan: str | None = None,
        pacer: Callable[[IntArray], Pacer] = Pacer,
    ) -> None:
        """Store the input; nothing runs yet.

        Args:
            process: takes all events and emits all outputs.
            program: the program that defines the events.
            data: the input.
            load: when the events are due; None if all are due at once.
            subject: subject of the error message when `process` raises.
            remedy: end of the error message when `process` raises.
            plan: a description of how the task runs.
            pacer: makes the source from the due times in total order; tests pass one with a fake clock.
        """
        self._process = process
        self._program = program
        self._data = data
        self._load = load
        self._subject = subject
        self._remedy = remedy
        self._plan = plan
        self._pacer = pacer
        # At full speed the merge is part of the timed work. A load delivers events in total order.
        self._merged = None if load is None else merge(data, program)
        self._out = Emitter(program.output)

    def run(self) -> Measured:
        """Process every event; under a load, as soon as it is due.

        Raises:
            EngineCrashError: `process` raised; its exception is the cause.
            MemoryError: memory ran out.
        """
        with _crash_errors(f"{self._subject} raised", self._remedy):
            if self._load is not None:
                return self._run_paced(self._load)
            self._process(merge(self._data, self._program).events(self._program), self._out)
        return Measured(events=self._data.events, plan=self._plan)

    def _run_paced(self, load: OfferedLoad) -> Measured:
        assert self._merged is not None
        due_ns = np.concatenate(load.due_ns)[self._merged.order]
        pacer = self._pacer(due_ns)
        events = pacer.take(
            self._merged.events(self._program, chunk=CHUNK_UNDER_LOAD), self._out.rows
        )
        tick_ns = arrival_tick_ns(self._program)
        if tick_ns is not None:
            events = (event._replace(ts=pacer.now_ns // tick_ns) for event in events)
        self._process(events, self._out)
        pacer.finish(self._out.rows)
        run = OpenRun(
            due_ns=due_ns,
            taken_ns=pacer.taken_ns,
            done_ns=pacer.done_ns,
            made_by=pacer.made_by,
        )
        return measured(run, load, plan=self._plan)

    def answer(self) -> Columns:
        """Return all outputs in the order in which they were emitted."""
        return self._out.columns(self._program.output)

    def close(self) -> None:
        """Do nothing: the class starts no threads or processes."""
