"""The reference engine: processes all events in total order, in plain Python.

It defines the right answer of a program (`spec` in the DGS paper, Theorem 2.4; Algorithm 2 of
STRETCH for operators O+) and is the way to debug one: breakpoints and prints work in it. It uses
one worker and no plan.
"""

import platform
from collections.abc import Callable, Mapping
from functools import partial

from streamlab.engines.base import BaseEngine, PreparedStream
from streamlab.engines.conditions import MEMORY, PYTHON, RECORD, Conditions
from streamlab.engines.pacer import Pacer
from streamlab.engines.protocol import IntArray, OfferedLoad, Property, Task, Variant
from streamlab.workloads.model import Input, Program
from streamlab.workloads.model.reference import apply

SEQUENTIAL = Variant(
    name="sequential",
    summary="plain Python, one event at a time, in total order",
    takes_load=True,
    conditions=Conditions(unit=RECORD, origin=MEMORY, also_timed=(PYTHON,)),
)
PLAN = "sequential: one worker, total order"


class ReferenceEngine(BaseEngine):
    """Adapter of the reference engine."""

    name = "reference"
    known_variants = (SEQUENTIAL,)

    def version(self) -> str:
        """Return the version of the Python that runs the programs."""
        return f"{platform.python_implementation()} {platform.python_version()}"

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return the properties, which hold trivially for sequential execution."""
        why = "sequential: there is no parallelism to depend on"
        return {
            "PIP1": Property(holds=True, why=why),
            "PIP2": Property(holds=True, why=why),
            "PIP3": Property(holds=True, why="uses the workload's own program and nothing else"),
        }

    def start(self, task: Task) -> "PreparedReference":
        """Load the input."""
        return PreparedReference(task.workload.program, task.dataset.load(), task.load)


class PreparedReference(PreparedStream):
    """A loaded input, ready to run; blames the program for what it raises."""

    def __init__(
        self,
        program: Program,
        data: Input,
        load: OfferedLoad | None = None,
        *,
        pacer: Callable[[IntArray], Pacer] = Pacer,
    ) -> None:
        """Hold the input; nothing runs yet; see `PreparedStream`."""
        super().__init__(
            partial(
                apply,
                program,
                count=data.events,
                until_ts=data.until_ts,
                keys=data.alphabet.keys,
            ),
            program,
            data,
            load,
            who=f"program {program.name}",
            remedy="; run it under a debugger with this engine",
            plan=PLAN,
            pacer=pacer,
        )
