"""Base classes for engines, with answers to what most of them would answer alike.

`BatchEngine` computes on the whole input at once, `StreamingEngine` takes one event after the
other, at full speed or under an offered load; `BaseEngine` is for any other. An engine of tables
has a class of its own (`engines/tables.py`). `streamlab.engine` has all that an author needs;
docs/extending.md shows how.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from streamlab.engines import environment
from streamlab.engines.conditions import MEMORY, PYTHON, RECORD, WHOLE, Conditions
from streamlab.engines.environment import Environment
from streamlab.engines.errors import EngineCrashError, UnsupportedError
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
from streamlab.workloads.model import Columns, Input, Program
from streamlab.workloads.model.errors import place_of
from streamlab.workloads.model.streams.records import Emitter
from streamlab.workloads.model.streams.total_order import merge

CHUNK_UNDER_LOAD = 256
"""Events made from columns at a time: few, since those that are due wait for it."""


class BaseEngine(ABC):
    """An engine that says who it is, and otherwise what most engines would say.

    Attributes:
        name: by which the lab knows it; that of the entry point in the group `lab.engines`.
        interface: the version of `streamlab.engine` that it is written for.
        known_variants: the first that runs a workload's model is its default.
        queries: what it computes, by name of the workload, where it has something of its own for
            each; None: it runs any program of the models of its variants.
        most_workers: its highest degree of parallelism; None: there is no bound.
        packages: whose versions are the engine's version.
        environment: where it needs other packages than the lab has.
    """

    name: ClassVar[str]
    interface: ClassVar[int] = 1
    known_variants: ClassVar[tuple[Variant, ...]]
    queries: ClassVar[Mapping[str, Any] | None] = None
    most_workers: ClassVar[int | None] = 1
    packages: ClassVar[tuple[str, ...]] = ()
    environment: ClassVar[Environment | None] = None

    @abstractmethod
    def start(self, task: Task) -> Prepared:
        """Load, compile, start and warm up a task that is supported; nothing here is timed."""

    def refused(self, task: Task) -> str | None:
        """Return why a task cannot be run although nothing else speaks against it, or None."""
        return None

    def version(self) -> str:
        """Return the versions of `packages`."""
        return environment.versions(self.name, self.packages) or "not stated"

    def variants(self) -> tuple[Variant, ...]:
        """Return `known_variants`, with what `queries` has for them."""
        if self.queries is None:
            return self.known_variants
        written = frozenset(self.queries)
        return tuple(replace(v, written_for=written - {*v.lacking}) for v in self.known_variants)

    def wrong_options(self, variant: str, options: Mapping[str, object]) -> str | None:
        """Refuse all options."""
        if options:
            return f"engine {self.name} has no options, got {', '.join(sorted(options))}"
        return None

    def unsupported(self, task: Task) -> str | None:
        """Return the first reason against a task: what is declared, the environment, `refused`.

        An environment is worth making only for what the engine has.
        """
        undeclared = self._undeclared(task)
        if undeclared is not None:
            return undeclared
        if self.environment is not None:
            lacking = environment.lacking(self.name, self.environment)
            if lacking is not None:
                return lacking
        return self.refused(task)

    def _undeclared(self, task: Task) -> str | None:
        """Return what in a task the engine's own declarations exclude, or None."""
        known = {variant.name: variant for variant in self.variants()}
        if task.variant not in known:
            return f"no variant {task.variant!r}; engine {self.name} has {', '.join(known)}"
        variant = known[task.variant]
        lacking = variant.lacks(task.workload)
        if lacking is not None:
            return f"{self.name}/{task.variant} {lacking}"
        if task.load is not None and not variant.takes_load:
            return f"{task.variant} of {self.name} takes no offered load"
        wrong = self.wrong_options(task.variant, task.options)
        if wrong is not None:
            return wrong
        if self.most_workers is not None and task.workers > self.most_workers:
            workers = "worker" if self.most_workers == 1 else "workers"
            return f"{self.name} has at most {self.most_workers} {workers}, got {task.workers}"
        return None

    def kept_folders(self) -> Sequence[Path]:
        """Return none: what it writes in one trial is gone in the next."""
        return ()

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return that nothing is stated about PIP1 to PIP3."""
        unstated = Property(holds=False, why=f"engine {self.name} does not say")
        return {"PIP1": unstated, "PIP2": unstated, "PIP3": unstated}

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Return None: it takes no load, or one from a virtual source."""
        return None

    def prepare(self, task: Task) -> Prepared:
        """Start a task.

        Raises:
            UnsupportedError: see `unsupported`.
        """
        reason = self.unsupported(task)
        if reason is not None:
            raise UnsupportedError(reason)
        return self.start(task)


class BatchEngine(BaseEngine):
    """An engine that computes the whole answer from the whole input, which lies in memory."""

    known_variants: ClassVar[tuple[Variant, ...]] = (
        Variant(
            name="batch",
            summary="the whole input at once, from memory",
            conditions=Conditions(unit=WHOLE, origin=MEMORY),
        ),
    )

    def load(self, task: Task) -> Any:
        """Return the input as `compute` wants it; not timed. Here: columns in memory."""
        return task.dataset.load()

    def compute(self, task: Task, data: Any) -> Any:
        """Return the answer from what `load` returned; this is what is timed.

        Here: what the function in `queries` for the workload makes of it; `task.workload` has the
        query parameters.
        """
        assert self.queries is not None, "an engine without queries computes by itself"
        return self.queries[task.workload.name](task, data)

    def columns(self, task: Task, answer: Any) -> Mapping[str, Any]:
        """Return what `compute` returned as columns by name, in output order; not timed."""
        columns: Mapping[str, Any] = answer
        return columns

    def plan(self, task: Task) -> str | None:
        """Return in words how a task is run, or None."""
        return None

    def close(self) -> None:
        """Let go of what the engine holds beside the data; may be called twice."""

    def start(self, task: Task) -> Prepared:
        """Load the input."""
        return PreparedBatch(self, task, self.load(task))


class PreparedBatch:
    """An input in memory, and the engine that computes on it."""

    def __init__(self, engine: BatchEngine, task: Task, data: Any) -> None:
        """Hold the data; nothing runs yet."""
        self._engine = engine
        self._task = task
        self._data = data
        self._answer: Any = None

    def run(self) -> Measured:
        """Compute the answer.

        Raises:
            EngineCrashError: it cannot be computed; the exception is the cause.
            MemoryError: for lack of memory, which is no fault of the code.
        """
        task = self._task
        try:
            self._answer = self._engine.compute(task, self._data)
        except MemoryError:
            raise
        except Exception as error:
            raise EngineCrashError(
                f"{self._engine.name}, {task.variant}: {type(error).__name__}: {error}, in "
                f"{place_of(error)}"
            ) from error
        return Measured(events=task.dataset.events, plan=self._engine.plan(task))

    def answer(self) -> Columns:
        """Return all outputs, with the types of the program's output.

        Raises:
            EngineCrashError: a column is not there, has nulls, or values that are not of its type.
        """
        output = self._task.workload.program.output
        found = self._engine.columns(self._task, self._answer)
        return {name: self._exact(name, found, output[name]) for name in output.names or ()}

    def _exact(self, name: str, found: Mapping[str, Any], wanted: np.dtype[Any]) -> Any:
        try:
            given = np.asanyarray(found[name])
        except Exception as error:  # libraries have their own
            raise EngineCrashError(
                f"{self._engine.name}: the answer, of type {type(found).__name__}, has no "
                f"column {name}; return a mapping from names to columns, of "
                f"{', '.join(self._task.workload.program.output.names or ())}"
            ) from error
        if np.ma.is_masked(given):
            raise EngineCrashError(f"{self._engine.name}: column {name} of the answer has nulls")
        cast = np.asarray(given, dtype=wanted)
        if wanted.kind in "iub" and given.dtype.kind in "iubfO" and not np.array_equal(cast, given):
            row = int(np.flatnonzero(cast != given)[0])
            raise EngineCrashError(
                f"{self._engine.name}: column {name} of the answer has {given[row]!r} in row "
                f"{row}, which is no {wanted}"
            )
        return cast

    def close(self) -> None:
        """Let go of the data and of what the engine holds."""
        self._data = self._answer = None
        self._engine.close()


class StreamingEngine(BaseEngine):
    """An engine that takes one event after the other, in total order, as soon as it is due."""

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
        """Take all events and emit all outputs (`out.emit(ts, ...)`); this is what is timed.

        Args:
            task: what to compute.
            events: named tuples with `ts`, `kind`, `key` and the payload, for programs of the other
                models as their functions see them. Under an offered load the iterator waits until
                the next one is due; it takes the engine for done with one when asked for the next.
            out: what is emitted before the next event is asked for counts as made by the last one.
                Of an input that is cut (`task.dataset.until_ts`), time is known to have passed up
                to the instant before the cut: windows that end by then belong to the answer.
        """

    def start(self, task: Task) -> Prepared:
        """Load the input."""
        return PreparedStream(
            lambda events, out: self.process(task, events, out),
            task.workload.program,
            task.dataset.load(),
            task.load,
            who=f"engine {self.name}, on {task.workload.name},",
        )


class PreparedStream:
    """A loaded input, ready to be taken event by event."""

    def __init__(
        self,
        process: Callable[[Iterable[Any], Emitter], None],
        program: Program,
        data: Input,
        load: OfferedLoad | None = None,
        *,
        who: str,
        remedy: str = "",
        plan: str | None = None,
        pacer: Callable[[IntArray], Pacer] = Pacer,
    ) -> None:
        """Hold the input; nothing runs yet.

        Args:
            process: takes all events and emits all outputs.
            program: whose events they are.
            data: the input.
            load: when its events are due; None for all at once.
            who: whom to blame when `process` raises, and
            remedy: how to go on then.
            plan: how it runs, in words.
            pacer: makes the source from the due times in total order; tests give it their clock.
        """
        self._process = process
        self._program = program
        self._data = data
        self._load = load
        self._who = who
        self._remedy = remedy
        self._plan = plan
        self._pacer = pacer
        # At full speed the merging is timed: it is a part of the work. A load's events come in
        # total order by themselves.
        self._merged = None if load is None else merge(data, program)
        self._out = Emitter(program.output)

    def run(self) -> Measured:
        """Process every event, with a load as soon as it is due.

        Raises:
            EngineCrashError: something in `process` raised; its exception is the cause.
            MemoryError: for lack of memory, which is no fault of the code.
        """
        try:
            if self._load is not None:
                return self._run_paced(self._load)
            self._process(merge(self._data, self._program).events(self._program), self._out)
        except MemoryError:
            raise
        except Exception as error:
            raise EngineCrashError(
                f"{self._who} raised {type(error).__name__}: {error}, in {place_of(error)}"
                f"{self._remedy}"
            ) from error
        return Measured(events=self._data.events, plan=self._plan)

    def _run_paced(self, load: OfferedLoad) -> Measured:
        assert self._merged is not None
        due_ns = np.concatenate(load.due_ns)[self._merged.order]
        pacer = self._pacer(due_ns)
        events = self._merged.events(self._program, chunk=CHUNK_UNDER_LOAD)
        self._process(pacer.take(events, self._out.rows), self._out)
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
        """Do nothing: there are no threads and no processes."""
