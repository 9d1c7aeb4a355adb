"""Runs DGS programs on the native core, with synchronization plans."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.dgs.adaptive.changer import PlanChanger
from streamlab.engines.multicore.dgs.adaptive.deciders import (
    AdaptiveSettings,
    Decider,
    RateDecider,
    ScriptDecider,
)
from streamlab.engines.multicore.dgs.adaptive.phases import Phases
from streamlab.engines.multicore.dgs.costs import measure_costs
from streamlab.engines.multicore.dgs.kernels import Kernels
from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.recovery.cuts import Cuts, find_cuts
from streamlab.engines.multicore.dgs.recovery.recovery import Recovery
from streamlab.engines.multicore.dgs.snapshot_thread import SnapshotThread
from streamlab.engines.multicore.run.core_run import CoreRun, crash_errors, setup_errors
from streamlab.engines.multicore.run.results import LATENCY, histogram
from streamlab.engines.multicore.run.settings import RunSettings, itemsizes
from streamlab.engines.protocol import Histogram, Measured
from streamlab.workloads.model import Columns, DGSProgram, Input, ModelError, PlanError
from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.model.dgs.plan_text import plan_text
from streamlab.workloads.model.dgs.stream_profile import StreamProfile, profile
from streamlab.workloads.model.dgs.validity import check_plan
from streamlab.workloads.optimizers import Choice, Costs, PlanRequest, choose
from streamlab.workloads.optimizers.registry import optimizer

BATCH = 4096
"""Events in a block when costs are measured without a run: the lab's default batch."""
MOST_RESERVED_BYTES = 512 << 20
"""Maximum memory to reserve for outputs under a load when their number is unknown."""
MOST_CHANGE_CUTS = 1 << 12
"""Maximum number of cuts at which the plan may change. Each cut ends a run of events, so more cost time."""
MOST_CHANGES_SHOWN = 20


class DgsRun(CoreRun):
    """Runs a DGS program once; needs no dataset.

    Args:
        program: the program.
        data: its input.
        settings: settings of the run.
        options: options of the variant; None means the defaults.
        plan: synchronization plan; None asks the optimizer.
        kernels: compiled functions of the program to share; None compiles them.
        script: plan changes `(cut, plan)` in ascending order of cuts, instead of changes by
            measured rates. For tests.

    Raises:
        EngineError: the program does not compile, its plan is invalid, or a setting is out of
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
        script: Sequence[tuple[int, Plan]] = (),
    ) -> None:
        chosen = options or DgsOptions()
        kernels = kernels or Kernels(program, bounds=settings.bounds)
        costs = cache(lambda: _costs(program, data, settings, chosen, kernels))
        choose_for = _Chooser(program, data, settings, chosen, costs)
        choice = _checked_choice(plan, data) if plan else choose_for.whole_input()
        for _, later in script:
            _checked_choice(later, data)
        self.plan = choice.plan
        self._offered = settings.workers
        self._script = tuple(script)
        self._adaptive: AdaptiveSettings | None = None
        if chosen.adapt and settings.workers > 1:
            self._adaptive = choose_for.adaptive_settings()
        self._recovery: Recovery | None = None
        self._changer: PlanChanger | None = None
        self._phases: Phases | None = None
        self._because = choice.reasons
        if not self._adapts:
            # Start only the workers that the plan uses.
            settings = replace(settings, workers=self.plan.workers)
        super().__init__(program.output, settings)
        if chosen.checkpoint_every:
            self._recovery = Recovery(program, data, chosen, settings.load)
        try:
            self._set_up(program, data, settings, chosen, kernels)
        except BaseException:
            self.close()
            raise

    @property
    def _adapts(self) -> bool:
        return self._adaptive is not None or bool(self._script)

    def _set_up(
        self,
        program: DGSProgram,
        data: Input,
        settings: RunSettings,
        chosen: DgsOptions,
        kernels: Kernels,
    ) -> None:
        recovery = self._recovery
        rest = recovery.rest if recovery else data
        cuts: Cuts | None = recovery.cuts if recovery else None
        if self._adapts and cuts is None:
            cuts = find_cuts(program, data, 1, MOST_CHANGE_CUTS)
        with setup_errors():
            self._core = _core.DgsRun(
                settings.for_core(program.output, most_rows=_most_rows(program, data)),
                max_outputs_per_event=program.max_outputs_per_event,
                max_outputs_across=_most_across(program, data.alphabet.keys),
                itemsizes=itemsizes(program.output),
                gather=chosen.gather,
                handover=chosen.handover,
                mailbox=chosen.mailbox,
                buffer_runs=chosen.buffer_runs,
                cuts=None if cuts is None else cuts.for_core(),
                adaptive=self._adapts,
                checkpoints=recovery is not None,
            )
            self._phases = phases = Phases(self._core, rest, kernels, settings.load)
            states = recovery.states() if recovery else None
            self._layout = phases.lay_out(self.plan, states)
            if cuts is not None and (decider := self._decider(rest, cuts)) is not None:
                self._changer = PlanChanger(
                    self._core, rest, cuts, self.plan, self._layout, decider, phases.lay_out
                )
            self._core.start()

    def _decider(self, data: Input, cuts: Cuts) -> Decider | None:
        if self._script:
            return ScriptDecider(self._script)
        return RateDecider(self._adaptive, data, cuts) if self._adaptive else None

    def run(self) -> Measured:
        """Process the complete input; a failure raises EngineCrashError."""
        with crash_errors():  # The snapshot thread joins and forks states when the plan changes.
            self._run_with_snapshots()
        phases = self._phases
        assert phases is not None, "the run was set up"
        self.plan = phases.plan
        used = float(phases.workers_used())
        counters = {**self._read_counters(), **phases.record_bytes(), "workers_used": used}
        sync = histogram(self._core.sync(), "from the last leaf's arrival until it continues")
        if len(sync.counts):
            counters["sync_median_ns"] = float(_median(sync))
        notices = self._recovery.notices() if self._recovery else ()
        if not self._adapts and self.plan.workers < self._offered:
            text = f"the plan uses {self.plan.workers} of {self._offered} workers: the optimizer"
            text += " predicts that more workers are not faster"
            notices = (*notices, text)
        change_lines: list[str] = []
        if self._changer is not None and (changes := self._changer.changes):
            counters["plan_change_max_ns"] = float(max(change.took_ns for change in changes))
            when = ", ".join(f"{change.at_ns / 1e9:.3f}" for change in changes[:MOST_CHANGES_SHOWN])
            change_lines = [f"the plan changed {len(changes)} times, at {when} s"]
            notices = (
                *notices,
                f"{change_lines[0]}; the trial's plan shows the last and the reasons",
            )
            change_lines += map(str, changes[:MOST_CHANGES_SHOWN])
        text = "\n".join([plan_text(self.plan), *self._because, *change_lines])
        return self._build_measured(text, counters, notices=notices)

    def answer(self) -> Columns:
        """Return all outputs; with checkpoints, those on disk."""
        return self._recovery.answer() if self._recovery else super().answer()

    def close(self) -> None:
        """Release the core, its threads, the input, and the folder of checkpoints."""
        super().close()
        self._phases = self._changer = None  # They refer to the core.
        if self._recovery is not None:
            self._recovery.close()

    def _run_with_snapshots(self) -> None:
        """Process the rest of the input, with a snapshot thread for checkpoints or plan changes.

        Raises:
            EngineError: a checkpoint could not be written.
        """
        snapshots: Recovery | SnapshotThread | None = None
        if self._changer is not None:
            self._changer.begin()
        if self._recovery is not None:
            self._recovery.begin(self._open(), self._layout, self._changer)
            snapshots = self._recovery
        elif self._changer is not None:
            snapshots = SnapshotThread(self._open(), "plan changes", self._changer.run)
        if snapshots is None:
            self._run_core()
            return
        snapshots.start()
        complete = False
        try:
            self._run_core()
            complete = True
        finally:
            snapshots.end(complete=complete)

    def _at_full_speed(self, core: Any) -> dict[str, Any]:
        return {"latency": histogram(core.latency(), LATENCY)}


def plan_costs(program: DGSProgram, data: Input, workers: int) -> Costs:
    """Measure the costs of a program's steps with default settings, at full speed.

    Args:
        program: the program.
        data: its input.
        workers: maximum number of workers of a plan.
    """
    settings = RunSettings(workers=workers, batch=BATCH)
    kernels = Kernels(program, bounds=settings.bounds)
    return _costs(program, data, settings, DgsOptions(), kernels)


def _checked_choice(plan: Plan, data: Input) -> Choice:
    """Return the caller's plan as a choice, after a check of its validity."""
    try:
        check_plan(plan, profile(data))
    except PlanError as error:
        raise EngineError(str(error)) from error
    return Choice(plan=plan)


class _Chooser:
    """Chooses plans with the optimizer that the options name.

    Args:
        program, data, settings, options: those of the run.
        costs: measures the costs of the program's steps.
    """

    def __init__(
        self,
        program: DGSProgram,
        data: Input,
        settings: RunSettings,
        options: DgsOptions,
        costs: Callable[[], Costs],
    ) -> None:
        self._request = PlanRequest(
            program=program,
            alphabet=data.alphabet,
            streams=profile(data),
            workers=settings.workers,
            costs=costs,
        )
        self._options = options

    def whole_input(self) -> Choice:
        """Return the choice for the complete input."""
        try:
            return choose(self._options.optimizer, self._request)
        except ModelError as error:
            raise EngineError(str(error)) from error

    def adaptive_settings(self) -> AdaptiveSettings:
        """Return the settings for plan changes during the run; measures costs."""
        name = self._options.optimizer
        chosen = optimizer(name)  # Look it up once: that takes milliseconds.
        # All workers start before the first plan, so a plan pays no start.
        costs = replace(self._request.costs(), start_ns=0.0)
        request = replace(self._request, costs=lambda: costs)

        def for_rates(rates: Sequence[StreamProfile]) -> Plan:
            try:
                plan = chosen(replace(request, streams=tuple(rates))).plan
                check_plan(plan, self._request.streams)
            except Exception as error:  # An optimizer may come from another package.
                raise EngineError(
                    f"optimizer {name!r} failed for rates measured during the run: "
                    f"{type(error).__name__}: {error}"
                ) from error
            return plan

        return AdaptiveSettings(
            period_s=self._options.adapt_ms / 1e3,
            choose_plan=for_rates,
            costs=costs,
            input_profile=self._request.streams,
        )


def _costs(
    program: DGSProgram,
    data: Input,
    settings: RunSettings,
    options: DgsOptions,
    kernels: Kernels,
) -> Costs:
    timer = _PlanTimer(program, settings, options, kernels)
    return measure_costs(program, data, timer, len(os.sched_getaffinity(0)))


class _PlanTimer:
    """Times plans at full speed with a run's settings, without gathering.

    Args:
        program, settings, options, kernels: those of the run.
    """

    def __init__(
        self,
        program: DGSProgram,
        settings: RunSettings,
        options: DgsOptions,
        kernels: Kernels,
    ) -> None:
        self._program = program
        self._settings = replace(settings, load=None)
        self._options = replace(options, gather=False, adapt=False, checkpoint_every=0)
        self._kernels = kernels
        self._rows: dict[int, int] = {}

    def __call__(self, plan: Plan, part: Input) -> float:
        """Return the duration in ns; output memory is reserved from the second run of an input on."""
        expected = self._rows.get(part.events)
        settings = replace(self._settings, workers=plan.workers, expected_outputs=expected)
        run = DgsRun(self._program, part, settings, self._options, plan=plan, kernels=self._kernels)
        try:
            took_ns = run._run_core()
            self._rows[part.events] = run._core.rows()
            return took_ns
        finally:
            run.close()


def _most_rows(program: DGSProgram, data: Input) -> int:
    """Return the maximum number of rows that a program can emit, limited to the reserved memory."""
    most = MOST_RESERVED_BYTES // program.output.itemsize
    own = program.key_kinds()
    across = sum(len(stream) for stream in data.streams if not own.issuperset(stream.kinds))
    rows = data.events * program.max_outputs_per_event
    return min(rows + across * _most_across(program, data.alphabet.keys), most)


def _most_across(program: DGSProgram, keys: int) -> int:
    """Return the maximum number of records that one event across keys can emit."""
    largest = [
        across.most_outputs(int(np.unique(across.groups(keys), return_counts=True)[1].max()))
        for across in program.across
    ]
    return max(largest, default=0)


def _median(histogram: Histogram) -> int:
    total = np.cumsum(histogram.counts)
    return int(histogram.values_ns[np.searchsorted(total, (total[-1] + 1) // 2)])
