"""Runs DGS programs on the native core, with synchronization plans."""

from typing import Any

import numpy as np

from engines.errors import EngineError
from engines.multicore import _core
from engines.multicore.dgs.wiring import Wiring
from engines.multicore.kernels.compile import Kernels
from engines.multicore.run.core_run import CoreRun, core_settings, set_up
from engines.multicore.run.results import LATENCY, histogram
from engines.protocol import Histogram, Measured, OfferedLoad
from workloads.model import DGSProgram, Input, PlanError, Workload
from workloads.model.optimizer import choose_plan
from workloads.model.plan import Plan
from workloads.model.profile import profile
from workloads.model.render import plan_text
from workloads.model.validity import check_plan

RING_BLOCKS = 64
MOST_RESERVED_BYTES = 512 << 20
"""With a load: most memory for outputs that is touched where nobody knows how many there are."""


class MulticoreRun(CoreRun):
    """One run on columns in memory. Usable without a dataset: tests and benchmarks do."""

    def __init__(
        self,
        workload: Workload,
        data: Input,
        *,
        workers: int,
        batch: int,
        pin: bool | None = None,
        ring_blocks: int = RING_BLOCKS,
        plan: Plan | None = None,
        load: OfferedLoad | None = None,
        measure: bool = True,
        expected_outputs: int | None = None,
    ) -> None:
        program = workload.program
        assert isinstance(program, DGSProgram), "the adapter checks"
        profiles = profile(data)
        try:
            self.plan = plan or choose_plan(program, data.alphabet, profiles, workers)
            check_plan(self.plan, profiles)
        except PlanError as error:
            raise EngineError(str(error)) from error
        super().__init__(
            program.output, load=load, measure=measure, expected_outputs=expected_outputs
        )
        self._plan_text = plan_text(self.plan)
        fields = [program.output[name] for name in program.output.names or ()]
        with set_up():
            self._core = _core.DgsRun(
                core_settings(
                    workers=workers,
                    threads=workers,
                    batch=batch,
                    ring_blocks=ring_blocks,
                    pin=pin,
                    load=load,
                    reserved_rows=self._reserved_rows(_most_rows(program, data.events)),
                    measure=measure,
                ),
                max_outputs_per_event=program.max_outputs_per_event,
                itemsizes=[field.itemsize for field in fields],
            )
            kernels = Kernels(program)
            self._wiring: Wiring | None = Wiring(self._core, self.plan, data, kernels, load)
            self._wiring.build()
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

    def close(self) -> None:
        """Release the core, its threads, the kernels and the input."""
        super().close()
        self._wiring = None

    def _at_full_speed(self, core: Any) -> dict[str, Any]:
        return {"latency": histogram(core.latency(), LATENCY)}


def _most_rows(program: DGSProgram, events: int) -> int:
    """Return how many rows a program can emit, or a bound of what is reserved."""
    most = MOST_RESERVED_BYTES // program.output.itemsize
    return min(events * program.max_outputs_per_event, most)


def _median(histogram: Histogram) -> int:
    total = np.cumsum(histogram.counts)
    return int(histogram.values_ns[np.searchsorted(total, (total[-1] + 1) // 2)])
