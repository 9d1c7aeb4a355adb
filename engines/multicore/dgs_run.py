"""Runs DGS programs on the native core, with synchronization plans."""

import os
from typing import Any

import numpy as np

from engines.errors import EngineCrashError, EngineError
from engines.multicore import _core
from engines.multicore.kernels.compile import Kernels
from engines.multicore.results import (
    LAG,
    LATENCY,
    LATENCY_UNDER_LOAD,
    SERVICE,
    histogram,
    progress,
)
from engines.multicore.wiring import Wiring
from engines.protocol import FULL, Histogram, Measured, OfferedLoad, Sent
from workloads.model import Columns, DGSProgram, Input, PlanError, Workload
from workloads.model.optimizer import choose_plan
from workloads.model.plan import Plan
from workloads.model.profile import profile
from workloads.model.render import plan_text
from workloads.model.validity import check_plan

RING_BLOCKS = 64
RESERVED_BYTES = 512 << 20
"""With a load: most memory for outputs that is touched before the clock starts. Fresh pages stop a
core of a virtual machine for up to tens of milliseconds, which would be the tail of the latency."""


class MulticoreRun:
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
    ) -> None:
        program = workload.program
        assert isinstance(program, DGSProgram), "the adapter checks"
        profiles = profile(data)
        try:
            self.plan = plan or choose_plan(program, data.alphabet, profiles, workers)
            check_plan(self.plan, profiles)
        except PlanError as error:
            raise EngineError(str(error)) from error
        self._output = program.output
        self._plan_text = plan_text(self.plan)
        fields = [program.output[name] for name in program.output.names or ()]
        available = sorted(os.sched_getaffinity(0))
        # Two new threads often start on one core and take turns there for longer than a run.
        pinned = 1 < workers <= len(available) if pin is None else pin
        try:
            core = _core.Core(
                workers,
                batch,
                ring_blocks,
                program.max_outputs_per_event,
                [field.itemsize for field in fields],
                available if pinned else [],
                workers > len(available),
                None if load is None else (load.warm_up_ns, load.end_ns, load.batching == FULL),
                workers < len(available),
                0 if load is None else _rows_to_reserve(program, data.events, workers),
                measure,
            )
            self._load, self._measure = load, measure
            self._wiring: Wiring | None = Wiring(core, self.plan, data, Kernels(program), load)
            self._wiring.build()
            core.start()
        except (ValueError, TypeError) as error:
            raise EngineError(f"the core refused the run: {error}") from error
        except RuntimeError as error:  # a fork raised, or a thread could not be had
            raise EngineCrashError(f"multicore: {error}") from error

    def run(self) -> Measured:
        """Process the whole input.

        Raises:
            EngineCrashError: a worker failed; the message says how.
        """
        core = self._open()
        try:
            core.run()
        except RuntimeError as error:
            raise EngineCrashError(f"multicore: {error}") from error
        counters = {name: float(value) for name, value in core.counters().items()}
        sync = histogram(core.sync(), "from the last leaf's arrival to its going on")
        if len(sync.counts):
            counters["sync_median_ns"] = float(_median(sync))
        return Measured(
            events=core.events(),
            progress=progress(core) if self._measure else None,
            plan=self._plan_text,
            counters=counters,
            **self._under_load(core),
        )

    def _under_load(self, core: "_core.Core") -> dict[str, Any]:
        if not self._measure:
            return {}
        if self._load is None:
            return {"latency": histogram(core.latency(), LATENCY)}
        sent = Sent(events=core.emitted(), lag=histogram(core.lag(), LAG), own_thread=True)
        return {
            "latency": histogram(core.latency(), LATENCY_UNDER_LOAD),
            "warm_up_latency": histogram(core.warm_up(), LATENCY_UNDER_LOAD),
            "service_latency": histogram(core.service(), SERVICE),
            "sent": sent,
        }

    def answer(self) -> Columns:
        """Return all outputs, merged by event time; see `Prepared.answer`."""
        core = self._open()
        rows = core.rows()
        columns: Columns = {
            name: np.empty(rows, dtype=self._output[name]) for name in self._output.names or ()
        }
        core.collect([column.ctypes.data for column in columns.values()])
        return columns

    def close(self) -> None:
        """Release the core, its threads and the input."""
        self._wiring = None

    def _open(self) -> "_core.Core":
        if self._wiring is None:
            raise EngineError("this run is closed")
        return self._wiring.core


def _rows_to_reserve(program: DGSProgram, events: int, workers: int) -> int:
    """Return for how many output rows of each worker memory is touched before a load begins."""
    rows = min(events * program.max_outputs_per_event, RESERVED_BYTES // program.output.itemsize)
    return rows // workers


def _median(histogram: Histogram) -> int:
    total = np.cumsum(histogram.counts)
    return int(histogram.values_ns[np.searchsorted(total, (total[-1] + 1) // 2)])
