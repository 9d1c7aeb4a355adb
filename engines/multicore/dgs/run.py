"""Runs DGS programs on the native core, with synchronization plans."""

from typing import Any

import numpy as np

from engines.errors import EngineError
from engines.multicore import _core
from engines.multicore.dgs.kernels import Kernels
from engines.multicore.dgs.options import DgsOptions
from engines.multicore.dgs.wiring import Wiring
from engines.multicore.run.core_run import CoreRun, set_up
from engines.multicore.run.results import LATENCY, histogram
from engines.multicore.run.settings import RunSettings, itemsizes
from engines.protocol import Histogram, Measured
from workloads.model import DGSProgram, Input, PlanError
from workloads.model.optimizer import choose_plan
from workloads.model.plan import Plan
from workloads.model.profile import profile
from workloads.model.render import plan_text
from workloads.model.validity import check_plan

MOST_RESERVED_BYTES = 512 << 20
"""With a load: most memory for outputs that is touched where nobody knows how many there are."""


class DgsRun(CoreRun):
    """One run of a DGS program. Usable without a dataset: tests and benchmarks do.

    Args:
        program: what to compute.
        data: on which input.
        settings: how the run goes.
        options: the family's own; None: the defaults.
        plan: the synchronization plan; None: the optimizer's.

    Raises:
        EngineError: the program does not compile, its plan is not valid, or a setting is out of
            range.
    """

    def __init__(
        self,
        program: DGSProgram,
        data: Input,
        settings: RunSettings,
        options: DgsOptions | None = None,
        *,
        plan: Plan | None = None,
    ) -> None:
        super().__init__(program.output, settings)
        profiles = profile(data)
        try:
            self.plan = plan or choose_plan(program, data.alphabet, profiles, settings.workers)
            check_plan(self.plan, profiles)
        except PlanError as error:
            raise EngineError(str(error)) from error
        self._plan_text = plan_text(self.plan)
        chosen = options or DgsOptions()
        with set_up():
            self._core = _core.DgsRun(
                settings.for_core(program.output, most_rows=_most_rows(program, data.events)),
                max_outputs_per_event=program.max_outputs_per_event,
                itemsizes=itemsizes(program.output),
                gather=chosen.gather,
                handover=chosen.handover,
            )
            self._kernels = Kernels(program, bounds=settings.bounds)
            Wiring(self._core, self.plan, data, self._kernels, settings.load).build()
            self._core.start()

    def run(self) -> Measured:
        """Process the whole input.

        Raises:
            EngineCrashError: a worker failed; the message says how.
        """
        self._run_core()
        counters = self._counted()
        sync = histogram(self._core.sync(), "from the last leaf's arrival to its going on")
        if len(sync.counts):
            counters["sync_median_ns"] = float(_median(sync))
        return self._measured(self._plan_text, counters)

    def _at_full_speed(self, core: Any) -> dict[str, Any]:
        return {"latency": histogram(core.latency(), LATENCY)}


def _most_rows(program: DGSProgram, events: int) -> int:
    """Return how many rows a program can emit, or a bound of what is reserved."""
    most = MOST_RESERVED_BYTES // program.output.itemsize
    return min(events * program.max_outputs_per_event, most)


def _median(histogram: Histogram) -> int:
    total = np.cumsum(histogram.counts)
    return int(histogram.values_ns[np.searchsorted(total, (total[-1] + 1) // 2)])
