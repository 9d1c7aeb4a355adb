"""The reference engine: processes all events in total order, in plain Python.

It defines the right answer of a program (`spec` in the DGS paper, Theorem 2.4; Algorithm 2 of
STRETCH for operators O+) and is the way to debug one: breakpoints and prints work in it. It uses
one worker and no plan.
"""

import platform
from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np

from engines.conditions import MEMORY, PYTHON, RECORD, Conditions
from engines.errors import EngineCrashError, UnsupportedError
from engines.paced import Pacer
from engines.protocol import IntArray, Measured, OfferedLoad, Property, Task, Variant
from engines.recorded import OpenRun, measured
from engines.reference.sequential import apply, spec
from workloads.model import Columns, Input, Program
from workloads.model.errors import place_of
from workloads.model.records import Emitter
from workloads.model.total_order import merge

SEQUENTIAL = Variant(
    name="sequential",
    summary="plain Python, one event at a time, in total order",
    uses_batch=False,
    takes_load=True,
    conditions=Conditions(unit=RECORD, origin=MEMORY, also_timed=(PYTHON,)),
)
PLAN = "sequential: one worker, total order"
CHUNK_UNDER_LOAD = 256
"""Events made from columns at a time: few, since those that are due wait for it."""


class ReferenceEngine:
    """Adapter of the reference engine."""

    name: ClassVar[str] = "reference"

    def version(self) -> str:
        """Return the version of the Python that runs the programs."""
        return f"{platform.python_implementation()} {platform.python_version()}"

    def variants(self) -> tuple[Variant, ...]:
        """Return the only variant."""
        return (SEQUENTIAL,)

    def wrong_options(self, variant: str, options: Mapping[str, object]) -> str | None:
        """Refuse all options."""
        if options:
            return f"the reference engine has no options, got {', '.join(sorted(options))}"
        return None

    def unsupported(self, task: Task) -> str | None:
        """Refuse other variants, options, and more than one worker: more would change nothing."""
        if task.variant != SEQUENTIAL.name:
            return f"no variant {task.variant!r}; the reference engine has {SEQUENTIAL.name!r} only"
        wrong = self.wrong_options(task.variant, task.options)
        if wrong is not None:
            return wrong
        if task.workers > 1:
            return f"the reference engine is sequential: 1 worker, not {task.workers}"
        return None

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return the properties, which hold trivially for sequential execution."""
        why = "sequential: there is no parallelism to depend on"
        return {
            "PIP1": Property(holds=True, why=why),
            "PIP2": Property(holds=True, why=why),
            "PIP3": Property(holds=True, why="uses the workload's own program and nothing else"),
        }

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Return None: the source is virtual, and no rate is too high for it."""
        return None

    def prepare(self, task: Task) -> "PreparedReference":
        """Load the input."""
        reason = self.unsupported(task)
        if reason is not None:
            raise UnsupportedError(reason)
        return PreparedReference(task.workload.program, task.dataset.load(), task.load)


class PreparedReference:
    """A loaded input, ready to run."""

    def __init__(
        self,
        program: Program,
        data: Input,
        load: OfferedLoad | None = None,
        *,
        pacer: Callable[[IntArray], Pacer] = Pacer,
    ) -> None:
        """Hold the input; nothing runs yet.

        Args:
            program: what to run.
            data: on which input.
            load: when its events are due; None for all at once.
            pacer: makes the source from the due times in total order; tests give it their clock.
        """
        self._program = program
        self._data = data
        self._load = load
        self._pacer = pacer
        # At full speed the merging is timed: it is a part of the work. A load's events come in
        # total order by themselves.
        self._merged = None if load is None else merge(data, program)
        self._out = Emitter(program.output)

    def run(self) -> Measured:
        """Process every event, with a load as soon as it is due.

        Raises:
            EngineCrashError: the program raised; its exception is the cause.
        """
        try:
            if self._load is not None:
                return self._run_paced(self._load)
            spec(self._program, self._data, self._out)
        except Exception as error:
            raise EngineCrashError(
                f"program {self._program.name} raised {type(error).__name__}: {error}, in "
                f"{place_of(error)}; run it under a debugger with this engine"
            ) from error
        return Measured(events=self._data.events, plan=PLAN)

    def _run_paced(self, load: OfferedLoad) -> Measured:
        assert self._merged is not None
        due_ns = np.concatenate(load.due_ns)[self._merged.order]
        pacer = self._pacer(due_ns)
        events = self._merged.events(self._program, chunk=CHUNK_UNDER_LOAD)
        apply(
            self._program,
            pacer.take(events, self._out.rows),
            self._out,
            count=self._data.events,
            until_ts=self._data.until_ts,
        )
        run = OpenRun(
            due_ns=due_ns,
            taken_ns=pacer.taken_ns,
            done_ns=pacer.done_ns,
            made_by=pacer.made_by,
        )
        return measured(run, load, plan=PLAN)

    def answer(self) -> Columns:
        """Return all outputs in the order in which they were emitted."""
        return self._out.columns(self._program.output)

    def close(self) -> None:
        """Do nothing: there are no threads and no processes."""
