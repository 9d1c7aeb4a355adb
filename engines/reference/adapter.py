"""Implements the reference engine: processes all events in total order, in plain Python, on one worker.

Its answers define what is right (`spec` in the DGS paper, Theorem 2.4; Algorithm 2 of STRETCH for operators O+). Use it
to debug a program: breakpoints and prints work.
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


class ReferenceEngine(BaseEngine):
    """Adapts the reference engine to the engine protocol."""

    name = "reference"
    known_variants = (
        Variant(
            name="sequential",
            summary="plain Python, one event at a time, in total order",
            label="reference in Python",
            takes_load=True,
            stamps_arrivals=True,
            conditions=Conditions(unit=RECORD, origin=MEMORY, also_timed=(PYTHON,)),
            sequential=True,
            colour=2,
        ),
    )

    def version(self) -> str:
        """Return the version of the Python that runs the programs."""
        return f"{platform.python_implementation()} {platform.python_version()}"

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return the properties, which hold trivially for sequential execution."""
        why = "sequential: nothing runs in parallel"
        return {
            "PIP1": Property(holds=True, why=why),
            "PIP2": Property(holds=True, why=why),
            "PIP3": Property(holds=True, why="runs only the workload's program"),
        }

    def start(self, task: Task) -> "PreparedReference":
        """Load the input."""
        return PreparedReference(task.workload.program, task.dataset.load(), task.load)


class PreparedReference(PreparedStream):
    """Holds a loaded input, ready to run; its errors name the program."""

    def __init__(
        self,
        program: Program,
        data: Input,
        load: OfferedLoad | None = None,
        *,
        pacer: Callable[[IntArray], Pacer] = Pacer,
    ) -> None:
        """Store the input; nothing runs yet. See `PreparedStream`."""
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
            subject=f"program {program.name}",
            remedy="; run it under a debugger with this engine",
            plan="sequential: one worker, total order",
            pacer=pacer,
        )
