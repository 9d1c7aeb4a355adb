"""Adapts csp to the engine protocol: one event after the other, on one thread, in simulated time.

It takes no offered load: in csp's real time, a load would need its own source, and a clock at every output.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from streamlab.engines.conditions import MEMORY, PYTHON, RECORD, Conditions
from streamlab.engines.environment import Environment
from streamlab.engines.protocol import Task, Variant
from streamlab.engines.tables import TableEngine
from streamlab.workloads.model import DGSProgram


class CspEngine(TableEngine):
    """Runs a workload as the csp graph that a user would write."""

    name = "csp"
    known_variants = (
        Variant(
            name="simulation",
            summary="one event at a time in simulated time, on one thread; state in Python nodes",
            label="csp",
            models=(DGSProgram,),
            conditions=Conditions(unit=RECORD, origin=MEMORY, also_timed=(PYTHON,)),
        ),
    )
    queries: ClassVar[Mapping[str, str]] = {
        name: f"streamlab.engines.csp.queries:{name}"
        for name in ("event_window", "fraud_detection", "keyed_counter", "page_view_join")
    }
    one_kind = ()
    packages = ("csp",)
    environment = Environment(lock=Path(__file__).with_name("requirements.txt"))

    def tables(self, task: Task) -> Any:
        """Return the input."""
        return task.dataset.load()

    def load(self, task: Task) -> Any:
        """Return the graph of the query over the events."""
        query, data = super().load(task)
        return query(data)

    def compute(self, task: Task, data: Any) -> Any:
        """Run the graph to the last event."""
        data.run()
        return data

    def columns(self, task: Task, answer: Any) -> Mapping[str, object]:
        """Return the outputs in total order of their events."""
        columns: Mapping[str, object] = answer.columns()
        return columns

    def plan(self, task: Task) -> str:
        """Describe the plan: one thread, and which parts run in Python."""
        return "csp: one thread; inputs and merges in C++, one stateful node in Python"
