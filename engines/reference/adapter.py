"""The reference engine: applies `update` to all events in total order, in plain Python.

It defines the right answer of a program (`spec` in the DGS paper, Theorem 2.4) and is the way to
debug one: breakpoints and prints work in it. It uses one worker and no plan.
"""

import platform
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from engines.errors import EngineCrashError, UnsupportedError
from engines.protocol import Measured, Property, Task, Variant
from workloads.model import Columns, DGSProgram, Input
from workloads.model.merged import merge
from workloads.model.records import Emitter, initial_state

SEQUENTIAL = Variant(
    name="sequential", summary="plain Python, one event at a time, in total order", uses_batch=False
)


class ReferenceEngine:
    """Adapter of the reference engine."""

    name: ClassVar[str] = "reference"

    def version(self) -> str:
        """Return the version of the Python that runs the programs."""
        return f"{platform.python_implementation()} {platform.python_version()}"

    def variants(self) -> tuple[Variant, ...]:
        """Return the only variant."""
        return (SEQUENTIAL,)

    def unsupported(self, task: Task) -> str | None:
        """Refuse other variants, options, and more than one worker: more would change nothing."""
        if task.variant != SEQUENTIAL.name:
            return f"no variant {task.variant!r}; the reference engine has {SEQUENTIAL.name!r} only"
        if task.options:
            return f"the reference engine has no options, got {', '.join(sorted(task.options))}"
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
        """Return None: no variant takes a load yet."""
        return None

    def prepare(self, task: Task) -> "PreparedReference":
        """Load the input."""
        reason = self.unsupported(task)
        if reason is not None:
            raise UnsupportedError(reason)
        return PreparedReference(task.workload.program, task.dataset.load())


class PreparedReference:
    """A loaded input, ready to run."""

    def __init__(self, program: DGSProgram, data: Input) -> None:
        """Hold the input; nothing runs yet."""
        self._program = program
        self._data = data
        self._out = Emitter(program.output)

    def run(self) -> Measured:
        """Merge the streams and process every event.

        Raises:
            EngineCrashError: the program raised; its exception is the cause.
        """
        try:
            spec(self._program, self._data, self._out)
        except Exception as error:
            raise EngineCrashError(
                f"program {self._program.name} raised {type(error).__name__}: {error}; "
                "run it under a debugger with this engine"
            ) from error
        return Measured(events=self._data.events, plan="sequential: one worker, total order")

    def answer(self) -> Columns:
        """Return all outputs in the order in which they were emitted."""
        return self._out.columns(self._program.output)

    def close(self) -> None:
        """Do nothing: there are no threads and no processes."""


def spec(program: DGSProgram, data: Input, out: Emitter) -> None:
    """Process all events of `data` in total order; outputs go to `out`."""
    update = program.states[0].update
    events = merge(data, program).events(program)
    if program.keyed:
        _run_keyed(program, update, events, out)
        return
    state = initial_state(program)
    for event in events:
        update(state, event, out)


def _run_keyed(
    program: DGSProgram, update: Callable[[Any, Any, Any], None], events: Any, out: Emitter
) -> None:
    states: dict[int, Any] = {}
    find = states.get
    for event in events:
        state = find(event.key)
        if state is None:
            state = states[event.key] = initial_state(program)
        update(state, event, out)
