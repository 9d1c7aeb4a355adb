"""Manages the phases of a run, which have one plan each. A run without plan changes has one phase."""

from collections import Counter
from typing import Any

from streamlab.engines.multicore.dgs.joined_state import JoinedStates, Layout
from streamlab.engines.multicore.dgs.kernels import Kernels
from streamlab.engines.multicore.dgs.wiring import Wiring
from streamlab.engines.protocol import OfferedLoad
from streamlab.workloads.model import Input
from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.optimizers.cost import plan_workers


class Phases:
    """Builds plans on a core, one after the other, for the input that the run processes.

    Attributes:
        plan: plan of the latest phase.
        workers_used: maximum number of workers with leaves in a phase.
    """

    plan: Plan

    def __init__(self, core: Any, data: Input, kernels: Kernels, load: OfferedLoad | None) -> None:
        self._core = core
        self._data = data
        self._kernels = kernels
        self._load = load
        self._begun: list[tuple[Wiring, tuple[int, ...]]] = []
        self.workers_used = 0

    def lay_out(
        self, plan: Plan, states: JoinedStates | None, positions: tuple[int, ...] = ()
    ) -> Layout:
        """Build a plan on the core, from which the previous plan was removed.

        Args:
            plan: the plan.
            states: states to resume from; None means the program's initial state.
            positions: start of the phase in each stream; empty means the beginning.

        Raises:
            EngineError: a function of the program does not compile, or `init` raises.
        """
        further = bool(self._begun)
        wiring = Wiring(self._core, plan, self._data, self._kernels, self._load, further=further)
        layout = wiring.build(states)
        self._begun.append((wiring, positions or (0,) * len(self._data.streams)))
        self.workers_used = max(self.workers_used, plan_workers(plan))
        self.plan = plan
        return layout

    def record_bytes(self) -> dict[str, float]:
        """Return the sum of `Wiring.record_bytes` over all phases, after the run."""
        total: Counter[str] = Counter()
        ends = [positions for _, positions in self._begun[1:]]
        ends.append(tuple(len(stream) for stream in self._data.streams))
        for (wiring, begins), phase_ends in zip(self._begun, ends, strict=True):
            events = [end - begin for begin, end in zip(begins, phase_ends, strict=True)]
            for name, count in wiring.record_bytes(events).items():
                total[name] += int(count)
        return {name: float(count) for name, count in total.items()}
