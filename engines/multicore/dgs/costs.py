"""Measures what the steps of a program cost on this machine, now: what the optimizer `cost` asks.

The beginning of the run's own input is run on plans that differ in one step each, by the real core
with the run's own settings: a few milliseconds each, several times in turn. Of one worker the least
time counts. Of two the middle counts, as on a machine with other work waiting for each other is
part of the cost, but less as much as the middle of one worker is above its least: that others take
time from both alike is none. What two take to meet bounds what one takes to join and fork for both,
which goes to and fro between their inputs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from streamlab.workloads.model import DGSProgram, Input, ListColumn, Stream
from streamlab.workloads.model.dgs.plan import ImplTag, Plan, PlanNode
from streamlab.workloads.model.dgs.stream_profile import profile
from streamlab.workloads.optimizers.balanced import balanced
from streamlab.workloads.optimizers.by_stream import by_stream
from streamlab.workloads.optimizers.prediction import Steps, predict
from streamlab.workloads.optimizers.request import Costs, PlanRequest

Timed = Callable[[Plan, Input], float]
"""Runs a plan on an input; returns its duration in ns."""

FIRST_EVENTS = 1 << 13
MOST_EVENTS = 1 << 23
GROWN, MOST_LONGER = 3, 32
"""A sample is made longer so often, so many times longer at most: the first ones say little."""
WANTED_NS = 4e6
"""Of a run by one worker: threads need some 50 us to start, a slice of the scheduler is 3 ms."""
MOST_NS = 100e6
"""Of a run by two, whose synchronizations may take a slice each."""
ROUNDS = 5
ENOUGH_NS = 5e8
"""After so long no further round begins."""
_OF_TWO = ("apart", "spread")
_FREE = Costs(
    update_ns=0,
    order_ns=0,
    fork_join_ns=0,
    handover_ns=0,
    skip_ns=0,
    start_ns=0,
    cores=1,
)


def measure_costs(
    program: DGSProgram,
    data: Input,
    timed: Timed,
    cores: int,
) -> Costs:
    """Return the costs of a program's steps, measured on the beginning of an input.

    A step that does not occur there costs 0: an input that has it rarely is not decided by it.

    Args:
        program: what is run.
        data: its input.
        timed: runs a plan.
        cores: that workers may use at once.
    """
    sample = _sample(program, data, timed)
    plans = _Plans.of(program, sample)
    ordering = frozenset().union(*(tree.root.ordering for tree in plans.alone.trees))
    cases = {"alone": (plans.alone, sample), "free": (plans.alone, _without(sample, ordering))}
    if program.across:
        across = frozenset(
            ImplTag(kind, index)
            for index, stream in enumerate(sample.streams)
            for kind in stream.kinds
            if program.across_of(kind)
        )
        cases["across"] = cases["free"]
        cases["free"] = plans.alone, _without(sample, ordering | across)
    cases["start 1"] = plans.alone, _beginning(sample, 1)
    cases["start 2"] = plans.apart, _beginning(sample, 1)
    if any(tree.root.children for tree in plans.apart.trees):
        cases["joined"] = plans.joined, sample
    cases["apart"] = plans.apart, sample
    if sample.alphabet.keys > 1:
        cases["spread"] = plans.spread, sample
    took: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, (plan, part) in cases.items():
            took[name].append(timed(plan, part))
        if sum(map(sum, took.values())) > ENOUGH_NS:
            break  # slices of the scheduler: what matters is plain by now
    slowed = max(1.0, median(took["alone"]) / max(1.0, min(took["alone"])))
    ns = {
        name: median(each) / slowed if name in _OF_TWO else min(each) for name, each in took.items()
    }
    # To start takes less than an input that is worth a second worker.
    ns["start 1"] = min(ns["start 1"], ns["free"] / 2)
    return _solve(ns, {name: _steps(*case) for name, case in cases.items()}, cores)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plans:
    """Plans that differ in a step.

    Attributes:
        alone: one worker, one leaf: no synchronization.
        joined: one worker with the leaves of two: forks and joins without a hand-over.
        apart: two workers, by stream: with hand-overs.
        spread: two workers, balanced: they pass over each other's keys.
    """

    alone: Plan
    joined: Plan
    apart: Plan
    spread: Plan

    @classmethod
    def of(cls, program: DGSProgram, sample: Input) -> "_Plans":
        request = PlanRequest(
            program=program, alphabet=sample.alphabet, streams=profile(sample), workers=2
        )
        apart = by_stream(request).plan
        trees = tuple(replace(tree, root=_on_one(tree.root)) for tree in apart.trees)
        return cls(
            alone=by_stream(replace(request, workers=1)).plan,
            joined=replace(apart, trees=trees, workers=1),
            apart=apart,
            spread=balanced(request).plan,
        )


def _on_one(node: PlanNode) -> PlanNode:
    if not node.children:
        return replace(node, worker=0)
    return replace(node, children=tuple(_on_one(child) for child in node.children))


def _solve(ns: dict[str, float], steps: dict[str, tuple[Steps, ...]], cores: int) -> Costs:
    """Return the costs by which each case takes what was measured; none is below 0."""
    start_ns = max(0.0, ns["start 2"] - ns["start 1"])
    costs = replace(_FREE, start_ns=start_ns, cores=cores)

    def each(name: str, step: str) -> float:
        """Return what a step takes: what a case took beyond what is known of its busiest worker."""
        beyond = ns["start 2" if name in _OF_TWO else "start 1"]
        known = max((one.time_ns(costs) for one in steps[name]), default=0.0)
        times = max((getattr(one, step) for one in steps[name]), default=0)
        return max(0.0, ns[name] - beyond - known) / times if times else 0.0

    costs = replace(costs, update_ns=each("free", "updates"))
    if "across" in steps:
        costs = replace(costs, cross_ns=each("across", "cross_updates"))
    costs = replace(costs, order_ns=each("alone", "ordered"))
    if "joined" in steps:
        fork_join_ns = each("joined", "local_joins")
        if any(one.shared_joins for one in steps["apart"]):
            # One worker goes from the input of one leaf to that of the other, which two need not.
            fork_join_ns = min(fork_join_ns, each("apart", "shared_joins"))
        costs = replace(costs, fork_join_ns=fork_join_ns)
    if "joined" in steps or "across" in steps:
        costs = replace(costs, handover_ns=each("apart", "shared_joins"))
    return replace(costs, skip_ns=each("spread", "skipped")) if "spread" in steps else costs


def _steps(plan: Plan, data: Input) -> tuple[Steps, ...]:
    return predict(plan, profile(data), _FREE).steps


def _sample(program: DGSProgram, data: Input, timed: Timed) -> Input:
    """Return a beginning of an input that takes long enough to be timed, and not too long."""
    sample = _beginning(data, FIRST_EVENTS)
    plans = _Plans.of(program, sample)
    # Compiles, and touches what is touched once.
    alone, apart = timed(plans.alone, sample), timed(plans.apart, sample)
    for _ in range(GROWN):
        if apart > MOST_NS:
            break
        alone, apart = (
            max(1.0, min(timed(plan, sample) for _ in range(2)))
            for plan in (plans.alone, plans.apart)
        )
        longer = min(WANTED_NS / alone, MOST_NS / apart, MOST_EVENTS / max(1, sample.events))
        if longer < 2 or sample is data:
            break
        sample = _beginning(data, int(min(longer, MOST_LONGER) * sample.events))
    return sample


def _beginning(data: Input, events: int) -> Input:
    """Return about the first `events` events of an input, by event time; at least one."""
    if events >= data.events or not data.events:
        return data
    longest = max(data.streams, key=len)
    last = longest.ts[min(len(longest) - 1, len(longest) * events // data.events)]
    return replace(
        data,
        streams=tuple(
            _rows(stream, slice(0, int(np.searchsorted(stream.ts, last, side="right"))))
            for stream in data.streams
        ),
    )


def _without(data: Input, tags: frozenset[ImplTag]) -> Input:
    """Return an input without the events of some tags."""
    kinds = len(data.alphabet.kinds)
    streams = []
    for index, stream in enumerate(data.streams):
        out = [tag.kind for tag in tags if tag.stream == index]
        if stream.tag is None:
            rows = slice(0, 0 if stream.kinds[0] in out else len(stream))
            streams.append(_rows(stream, rows))
        else:
            streams.append(_rows(stream, ~np.isin(stream.tag % kinds, out)) if out else stream)
    return replace(data, streams=tuple(streams))


def _rows(stream: Stream, rows: slice | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Stream:
    ts = np.ascontiguousarray(stream.ts[rows])
    payload = {
        name: np.ascontiguousarray(column[rows])
        for name, column in stream.payload.items()
        if not isinstance(column, ListColumn)  # which programs cannot read
    }
    last = ts[-1] if len(ts) else np.iinfo(np.int64).min
    return replace(
        stream,
        ts=ts,
        tag=None if stream.tag is None else np.ascontiguousarray(stream.tag[rows]),
        payload=payload,
        heartbeats=stream.heartbeats[stream.heartbeats <= last],
    )
