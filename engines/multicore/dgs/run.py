"""Runs DGS programs on the native core, with synchronization plans."""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, partial

import numpy as np

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.dgs.actors import ActorWiring
from streamlab.engines.multicore.dgs.adaptive.changer import PlanChanger
from streamlab.engines.multicore.dgs.adaptive.deciders import Decider, RateDecider
from streamlab.engines.multicore.dgs.costs import measure_costs
from streamlab.engines.multicore.dgs.kernels import Kernels
from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.recovery.cuts import Cuts, columns_of, find_cuts
from streamlab.engines.multicore.dgs.recovery.recovery import CheckpointWriter, Recovery
from streamlab.engines.multicore.dgs.snapshots import JoinedStates, SnapshotThread
from streamlab.engines.multicore.dgs.wiring import Wiring
from streamlab.engines.multicore.run.core_run import CoreRun, crash_errors, setup_errors
from streamlab.engines.multicore.run.family import Family, properties
from streamlab.engines.multicore.run.results import LATENCY, histogram, quantile
from streamlab.engines.multicore.run.settings import RunSettings, itemsizes
from streamlab.engines.protocol import Measured
from streamlab.workloads.model import Columns, DGSProgram, Input, ModelError
from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.model.dgs.plan_text import plan_text
from streamlab.workloads.model.dgs.stream_profile import StreamProfile, profile
from streamlab.workloads.model.dgs.validity import check_plan
from streamlab.workloads.optimizers import Choice, Costs, PlanRequest, choose
from streamlab.workloads.optimizers.registry import optimizer

BATCH = 4096
"""Events in a block when costs are measured outside a run: the lab's default batch."""
MAX_RESERVED_BYTES = 512 << 20
"""Maximum memory to reserve for outputs under a load when their number is unknown."""
MAX_CHANGE_CUTS = 1 << 12
"""Maximum number of cuts at which the plan may change. Each cut ends a run of events, which costs time."""
MAX_CHANGES_SHOWN = 20
"""Maximum number of changes in the notice and the plan's text."""


class DgsRun(CoreRun):
    """Runs a DGS program once; needs no dataset.

    Args:
        program, data, settings: the program, its input, and the settings of the run.
        options: options of the variant.
        plan: synchronization plan; None asks the optimizer.
        states: states of all keys at the start; None for the initial state; always None with checkpoints.
        kernels: compiled functions of the program to share; None compiles them.
        decider: decides about plan changes in tests; None to decide by measured rates.

    Raises:
        EngineError: the program does not compile, its plan is invalid, or a setting is out of
            range.
    """

    FULL_SPEED = ("latency", LATENCY)

    def __init__(
        self,
        program: DGSProgram,
        data: Input,
        settings: RunSettings,
        options: DgsOptions,
        *,
        plan: Plan | None = None,
        states: JoinedStates | None = None,
        kernels: Kernels | None = None,
        decider: Decider | None = None,
    ) -> None:
        kernels = kernels or Kernels(program, bounds=settings.bounds)
        costs = cache(lambda: _costs(program, data, settings, options, kernels))
        request = PlanRequest(
            program=program,
            alphabet=data.alphabet,
            streams=profile(data),
            workers=settings.workers,
            nodes=tuple(options.nodes),
            costs=costs,
        )
        try:
            if plan:
                check_plan(plan, request.streams)
            choice = Choice(plan=plan) if plan else choose(options.optimizer, request)
        except ModelError as error:
            raise EngineError(str(error)) from error
        self.plan = choice.plan
        self._reasons = choice.reasons
        self._offered = settings.workers
        self._decider = decider
        self._adaptive = None
        if options.adapt and settings.workers > 1:
            self._adaptive = _rate_decider(options, request)
        self._adapts = decider is not None or self._adaptive is not None
        self._recovery: Recovery | None = None
        self._states = states
        self._changer: PlanChanger | None = None
        self._wiring: Wiring | ActorWiring | None = None
        if not self._adapts:
            # Start only the workers that the plan uses.
            settings = replace(settings, workers=self.plan.workers)
        super().__init__(program.output, settings)
        if options.checkpoint_every:
            self._recovery = Recovery(program, data, options, settings.load, kernels)
        try:
            if options.as_published:
                self._set_up_actors(program, data, kernels)
            else:
                self._set_up(program, data, options, kernels)
        except BaseException:
            self.close()
            raise

    def _set_up(
        self, program: DGSProgram, data: Input, options: DgsOptions, kernels: Kernels
    ) -> None:
        recovery, settings = self._recovery, self._settings
        rest = recovery.rest if recovery else data
        cuts: Cuts | None = recovery.cuts if recovery else None
        if self._adapts and cuts is None:
            cuts = find_cuts(program, data, 1, MAX_CHANGE_CUTS)
        with setup_errors():
            self._core = _core.DgsRun(
                settings.for_core(program.output, max_rows=_max_rows(program, data)),
                max_outputs_per_event=program.max_outputs_per_event,
                max_outputs_across=_max_outputs_across(program, data.alphabet.keys),
                itemsizes=itemsizes(program.output),
                gather=options.gather is not False,
                handover=options.handover or "direct",
                cuts=None if cuts is None else columns_of(cuts),
                adaptive=self._adapts,
                checkpoints=recovery is not None,
            )
            self._wiring = wiring = Wiring(self._core, rest, kernels, settings.load)
            self._layout = wiring.lay_out(
                self.plan, recovery.states() if recovery else self._states
            )
            decider = self._decider
            if decider is None and self._adaptive is not None and cuts is not None:
                decider = self._adaptive(rest, cuts)
            if decider is not None and cuts is not None:
                self._changer = PlanChanger(
                    self._core, rest, cuts, self.plan, self._layout, decider, wiring.lay_out
                )
            self._core.start()

    def _set_up_actors(self, program: DGSProgram, data: Input, kernels: Kernels) -> None:
        if self._adapts or self._states is not None:
            raise EngineError(
                "a run in the published form starts from the initial state, and keeps its plan"
            )
        settings = self._settings
        with setup_errors():
            self._core = _core.MessageRun(
                settings.for_core(program.output, max_rows=_max_rows(program, data)),
                max_outputs_per_event=program.max_outputs_per_event,
                max_outputs_across=_max_outputs_across(program, data.alphabet.keys),
                itemsizes=itemsizes(program.output),
            )
            self._wiring = ActorWiring(self._core, data, kernels, settings.load)
            self._wiring.lay_out(self.plan)
            self._core.start()

    def run(self) -> Measured:
        """Process the complete input; a failure raises EngineCrashError."""
        with crash_errors():  # The snapshot thread joins and forks states when the plan changes.
            self._run_with_snapshots()
        wiring = self._wiring
        assert wiring is not None, "the run was set up"
        self.plan = wiring.plan
        counters = self._read_counters() | wiring.record_bytes()
        counters["workers_used"] = float(wiring.workers_used)
        sync = histogram(self._core.sync(), "of a synchronization")
        if len(sync.counts):
            counters["sync_median_ns"] = quantile(sync, 0.5)
        if self._recovery is not None:
            counters["checkpoints"] -= self._recovery.declined
        notices = list(self._recovery.notices()) if self._recovery else []
        if not self._adapts and self.plan.workers < self._offered:
            notices.append(
                f"the plan uses {self.plan.workers} of {self._offered} workers: the optimizer "
                "predicts that more workers are not faster"
            )
        lines = [plan_text(self.plan), *self._reasons]
        if self._changer is not None and (changes := self._changer.changes):
            counters["plan_change_max_ns"] = float(max(change.took_ns for change in changes))
            times = ", ".join(f"{change.at_ns / 1e9:.3f}" for change in changes[:MAX_CHANGES_SHOWN])
            summary = f"the plan changed {len(changes)} times, at {times} s"
            notices.append(f"{summary}; the trial's plan shows the last plan and the reasons")
            lines += [summary, *map(str, changes[:MAX_CHANGES_SHOWN])]
        return self._build_measured("\n".join(lines), counters, notices=tuple(notices))

    def answer(self) -> Columns:
        """Return all outputs; with checkpoints, from the checkpoint folder."""
        return self._recovery.answer() if self._recovery else super().answer()

    def final_states(self) -> JoinedStates:
        """Return the states after a run of a plan without inner nodes."""
        assert isinstance(self._wiring, Wiring), "the run is in this lab's form"
        core, crossings = self._open(), self._layout.crossings
        return JoinedStates(
            states=self._wiring.leaf_states(self._layout).tobytes(),
            groups={group: core.group_state(crossing) for group, crossing in crossings.items()},
        )

    def close(self) -> None:
        """Release the core, its threads, the input, and the folder of checkpoints."""
        super().close()
        self._wiring = self._changer = None  # Both refer to the core.
        if self._recovery is not None:
            self._recovery.close()

    def _run_with_snapshots(self) -> None:
        """Process the rest of the input, with a snapshot thread for checkpoints or plan changes.

        Raises:
            EngineError: a checkpoint could not be written.
        """
        changer, snapshots = self._changer, None
        if changer is not None:
            changer.begin()
            snapshots = SnapshotThread(self._open(), "plan changes", changer.run)
        if self._recovery is not None:
            snapshots = CheckpointWriter(self._recovery, self._open(), self._layout, changer)
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


def plan_costs(program: DGSProgram, data: Input, workers: int) -> Costs:
    """Measure the costs of a program's steps for plans of `workers`, by default settings, at full speed."""
    settings = RunSettings(workers=workers, batch=BATCH)
    kernels = Kernels(program, bounds=settings.bounds)
    return _costs(program, data, settings, DgsOptions(), kernels)


def _rate_decider(options: DgsOptions, request: PlanRequest) -> partial[RateDecider]:
    """Measure costs, and return the decider about plan changes, which takes the input and its cuts."""
    name = options.optimizer
    find_plan = optimizer(name)  # The look-up takes milliseconds.
    # All workers start before the first plan, so a plan pays no start.
    costs = replace(request.costs(), start_ns=0.0)
    base_request = replace(request, costs=lambda: costs)

    def choose_plan(rates: Sequence[StreamProfile]) -> Plan:
        try:
            plan = find_plan(replace(base_request, streams=tuple(rates))).plan
            check_plan(plan, request.streams)
        except Exception as error:  # An optimizer may come from another package.
            raise EngineError(
                f"optimizer {name!r} failed for rates measured during the run: "
                f"{type(error).__name__}: {error}"
            ) from error
        return plan

    return partial(
        RateDecider,
        period_s=options.adapt_ms / 1e3,
        choose_plan=choose_plan,
        costs=costs,
        input_profile=request.streams,
    )


def _costs(
    program: DGSProgram,
    data: Input,
    settings: RunSettings,
    options: DgsOptions,
    kernels: Kernels,
) -> Costs:
    """Measure costs at full speed with a run's settings, without gathering."""
    options = replace(options, gather=False, adapt=False, checkpoint_every=0, checkpoint_folder="")
    rows: dict[int, int] = {}

    def time_plan(plan: Plan, part: Input) -> float:
        """Return the duration in ns; from the second run of an input on, memory for outputs is reserved."""
        plan_settings = replace(
            settings, load=None, workers=plan.workers, expected_outputs=rows.get(part.events)
        )
        run = DgsRun(program, part, plan_settings, options, plan=plan, kernels=kernels)
        with closing(run):
            took_ns = run._run_core()
            rows[part.events] = run._core.rows()
            return took_ns

    return measure_costs(program, data, time_plan, len(os.sched_getaffinity(0)))


def _max_rows(program: DGSProgram, data: Input) -> int:
    """Return the maximum number of rows that a program can emit, limited to the reserved memory."""
    reservable_rows = MAX_RESERVED_BYTES // program.output.itemsize
    key_kinds = program.key_kinds()
    across = sum(len(stream) for stream in data.streams if not key_kinds.issuperset(stream.kinds))
    rows = data.events * program.max_outputs_per_event
    return min(rows + across * _max_outputs_across(program, data.alphabet.keys), reservable_rows)


def _max_outputs_across(program: DGSProgram, keys: int) -> int:
    """Return the maximum number of records that one event across keys can emit."""
    maxima = [
        across.max_outputs_for(int(np.unique(across.groups(keys), return_counts=True)[1].max()))
        for across in program.across
    ]
    return max(maxima, default=0)


DGS = Family(
    name="dgs",
    summary="synchronization plans over shared memory; programs with DGS",
    label="multicore",
    models=(DGSProgram,),
    run=DgsRun,
    options=DgsOptions,
    properties=properties(
        "the program does not mention the number of workers",
        "the plan, not the program, maps streams to workers",
        "only update, fork and join are used",
    ),
)
