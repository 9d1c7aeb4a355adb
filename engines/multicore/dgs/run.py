"""Runs DGS programs on the native core, with synchronization plans."""

import os
from dataclasses import replace
from typing import Any

import numpy as np

from engines.errors import EngineError
from engines.multicore import _core
from engines.multicore.dgs.costs import measure_costs
from engines.multicore.dgs.kernels import Kernels
from engines.multicore.dgs.options import DgsOptions
from engines.multicore.dgs.recovery.recovery import Recovery
from engines.multicore.dgs.wiring import Wiring
from engines.multicore.run.core_run import CoreRun, set_up
from engines.multicore.run.results import LATENCY, histogram
from engines.multicore.run.settings import RunSettings, itemsizes
from engines.protocol import Histogram, Measured
from workloads.model import Columns, DGSProgram, Input, ModelError, PlanError
from workloads.model.plan import Plan
from workloads.model.profile import profile
from workloads.model.render import plan_text
from workloads.model.validity import check_plan
from workloads.optimizers import Choice, Costs, PlanRequest, choose
from workloads.optimizers.cost import plan_workers

BATCH = 4096
"""Events of a block where nobody says how many: the lab's own default."""
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
        kernels: the program's, where several runs share them.

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
        kernels: Kernels | None = None,
    ) -> None:
        chosen = options or DgsOptions()
        kernels = kernels or Kernels(program, bounds=settings.bounds)
        choice = _given(plan, data) if plan else _chosen(program, data, settings, chosen, kernels)
        self.plan = choice.plan
        self._offered = settings.workers
        self._recovery: Recovery | None = None
        self._plan_text = "\n".join([plan_text(self.plan), *choice.because])
        # Workers that the plan was not made for are not started.
        settings = replace(settings, workers=self.plan.workers)
        super().__init__(program.output, settings)
        if chosen.checkpoint_every:
            self._recovery = Recovery(program, data, chosen, settings.load)
        try:
            self._set_up(program, data, settings, chosen, kernels)
        except BaseException:
            self.close()
            raise

    def _set_up(
        self,
        program: DGSProgram,
        data: Input,
        settings: RunSettings,
        chosen: DgsOptions,
        kernels: Kernels,
    ) -> None:
        recovery = self._recovery
        with set_up():
            self._core = _core.DgsRun(
                settings.for_core(program.output, most_rows=_most_rows(program, data)),
                max_outputs_per_event=program.max_outputs_per_event,
                max_outputs_across=_most_across(program, data.alphabet.keys),
                itemsizes=itemsizes(program.output),
                gather=chosen.gather,
                handover=chosen.handover,
                mailbox=chosen.mailbox,
                buffer_runs=chosen.buffer_runs,
                cuts=recovery.cuts.for_core() if recovery else None,
            )
            self._kernels = kernels
            rest = recovery.rest if recovery else data
            checkpoint = recovery.checkpoint if recovery else None
            wiring = Wiring(self._core, self.plan, rest, kernels, settings.load, checkpoint)
            self._layout = wiring.build()
            self._bytes = wiring.record_bytes()
            self._core.start()

    def run(self) -> Measured:
        """Process the whole input.

        Raises:
            EngineCrashError: a worker failed; the message says how.
        """
        self._run_with_checkpoints()
        used = plan_workers(self.plan)
        counters = {**self._counted(), **self._bytes, "workers_used": float(used)}
        sync = histogram(self._core.sync(), "from the last leaf's arrival to its going on")
        if len(sync.counts):
            counters["sync_median_ns"] = float(_median(sync))
        notices = self._recovery.notices() if self._recovery else ()
        if self.plan.workers < self._offered:
            text = f"the plan has work for {self.plan.workers} of {self._offered} workers, and only"
            text += " these run: more were predicted to be no quicker (optimizer 'cost')"
            notices = (*notices, text)
        return self._measured(self._plan_text, counters, notices=notices)

    def answer(self) -> Columns:
        """Return all outputs; with checkpoints, as they are on disk."""
        return self._recovery.answer() if self._recovery else super().answer()

    def close(self) -> None:
        """Release the core, its threads, the input, and the folder of checkpoints."""
        super().close()
        if self._recovery is not None:
            self._recovery.close()

    def _run_with_checkpoints(self) -> None:
        """Process the rest of the input, with a thread beside it that writes checkpoints.

        Raises:
            EngineError: one could not be written.
        """
        if self._recovery is None:
            self._run_core()
            return
        self._recovery.started(self._open(), self._layout)
        whole = False
        try:
            self._run_core()
            whole = True
        finally:
            self._recovery.ended(whole=whole)

    def _at_full_speed(self, core: Any) -> dict[str, Any]:
        return {"latency": histogram(core.latency(), LATENCY)}


def plan_costs(program: DGSProgram, data: Input, workers: int) -> Costs:
    """Measure what steps cost for a plan that is only shown: by blocks, at full speed."""
    settings = RunSettings(workers=workers, batch=BATCH)
    kernels = Kernels(program, bounds=settings.bounds)
    return _costs(program, data, settings, DgsOptions(), kernels)


def _given(plan: Plan, data: Input) -> Choice:
    try:
        check_plan(plan, profile(data))
    except PlanError as error:
        raise EngineError(str(error)) from error
    return Choice(plan=plan)


def _chosen(
    program: DGSProgram,
    data: Input,
    settings: RunSettings,
    options: DgsOptions,
    kernels: Kernels,
) -> Choice:
    """Return the choice of the optimizer that the options name."""
    request = PlanRequest(
        program=program,
        alphabet=data.alphabet,
        streams=profile(data),
        workers=settings.workers,
        costs=lambda: _costs(program, data, settings, options, kernels),
    )
    try:
        return choose(options.optimizer, request)
    except ModelError as error:
        raise EngineError(str(error)) from error


def _costs(
    program: DGSProgram,
    data: Input,
    settings: RunSettings,
    options: DgsOptions,
    kernels: Kernels,
) -> Costs:
    """Measure costs with a run's own settings, at full speed, each worker doing its own work."""
    apart = replace(options, gather=False, checkpoint_every=0)
    rows: dict[int, int] = {}

    def timed(plan: Plan, part: Input) -> float:
        """Run a plan; memory for outputs is there from the second time on."""
        expected = rows.get(part.events)
        how = replace(settings, workers=plan.workers, load=None, expected_outputs=expected)
        run = DgsRun(program, part, how, apart, plan=plan, kernels=kernels)
        try:
            duration_ns = run._run_core()
            rows[part.events] = run._core.rows()
            return duration_ns
        finally:
            run.close()

    return measure_costs(program, data, timed, len(os.sched_getaffinity(0)))


def _most_rows(program: DGSProgram, data: Input) -> int:
    """Return how many rows a program can emit, or a bound of what is reserved."""
    most = MOST_RESERVED_BYTES // program.output.itemsize
    own = program.key_kinds()
    across = sum(len(stream) for stream in data.streams if not own.issuperset(stream.kinds))
    rows = data.events * program.max_outputs_per_event
    return min(rows + across * _most_across(program, data.alphabet.keys), most)


def _most_across(program: DGSProgram, keys: int) -> int:
    """Return how many records one event across keys can emit."""
    largest = [
        one.most_outputs(int(np.unique(one.groups(keys), return_counts=True)[1].max()))
        for one in program.across
    ]
    return max(largest, default=0)


def _median(histogram: Histogram) -> int:
    total = np.cumsum(histogram.counts)
    return int(histogram.values_ns[np.searchsorted(total, (total[-1] + 1) // 2)])
