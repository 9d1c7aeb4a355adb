"""Measures the cost of each step of a program on this machine, for the optimizer `cost`.

The core runs the beginning of the run's input on plans that differ in one step, with the run's own settings.
Each run takes a few milliseconds; the plans alternate for several rounds.

- With one worker, the minimum time counts.
- With two workers, the median counts, because on a loaded machine the workers' waits are part of the cost. The median
  is divided by the ratio of median to minimum with one worker, because other work on the machine slows both cases
  alike.
- A fork and join on one worker cost at most as much as on two workers: the time measured on one worker includes
  alternating between the two inputs.
"""

from collections.abc import Callable
from dataclasses import replace
from statistics import median

import numpy as np

from streamlab.workloads.model import DGSProgram, Input, ListColumn, Stream
from streamlab.workloads.model.dgs.plan import ImplTag, Plan, PlanNode
from streamlab.workloads.model.dgs.stream_profile import profile
from streamlab.workloads.optimizers.balanced import balanced
from streamlab.workloads.optimizers.by_stream import by_stream
from streamlab.workloads.optimizers.prediction import Steps, predict
from streamlab.workloads.optimizers.request import Costs, PlanRequest

TimePlan = Callable[[Plan, Input], float]
"""Runs a plan on an input and returns the duration in ns."""

FIRST_EVENTS = 1 << 13
"""Events of the first sample."""
MAX_EVENTS = 1 << 23
"""Maximum number of events of a sample."""
GROWTH_STEPS, MAX_LONGER = 3, 32
"""Maximum number of growth steps of a sample, and maximum factor of a step, because short samples predict badly."""
WANTED_NS = 4e6
"""Target duration with one worker: above both the 50 us that threads need to start and a scheduler slice of 3 ms."""
MAX_NS = 100e6
"""Maximum duration with two workers, where each synchronization may take a scheduler slice."""
ROUNDS = 5
ENOUGH_NS = 5e8
"""Total time after which no further round begins."""
_TWO_WORKER_CASES = ("apart", "spread")
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
    time_plan: TimePlan,
    cores: int,
) -> Costs:
    """Return the costs of a program's steps, measured on the beginning of an input.

    A step that does not occur in this beginning costs 0, because a rare step does not decide between plans.
    `cores` is the number of cores available to workers.
    """
    sample = _sample(program, data, time_plan)
    plans = _plans(program, sample)
    ordering_tags = frozenset().union(*(tree.root.ordering for tree in plans["alone"].trees))
    cases = {
        "alone": (plans["alone"], sample),
        "free": (plans["alone"], _drop_tags(sample, ordering_tags)),
    }
    if program.across:
        across = frozenset(
            ImplTag(kind, index)
            for index, stream in enumerate(sample.streams)
            for kind in stream.kinds
            if program.across_of(kind)
        )
        cases["across"] = cases["free"]
        cases["free"] = plans["alone"], _drop_tags(sample, ordering_tags | across)
    cases["start 1"] = plans["alone"], _beginning(sample, 1)
    cases["start 2"] = plans["apart"], _beginning(sample, 1)
    if any(tree.root.children for tree in plans["apart"].trees):
        cases["joined"] = plans["joined"], sample
    cases["apart"] = plans["apart"], sample
    if sample.alphabet.keys > 1:
        cases["spread"] = plans["spread"], sample
    times_ns: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, (plan, part) in cases.items():
            times_ns[name].append(time_plan(plan, part))
        if sum(map(sum, times_ns.values())) > ENOUGH_NS:
            break
    slowdown = max(1.0, median(times_ns["alone"]) / max(1.0, min(times_ns["alone"])))
    ns = {
        name: median(times) / slowdown if name in _TWO_WORKER_CASES else min(times)
        for name, times in times_ns.items()
    }
    # Half the duration of the input limits the start, so that updates keep a cost above 0.
    ns["start 1"] = min(ns["start 1"], ns["free"] / 2)
    return _solve(ns, {name: _steps(*case) for name, case in cases.items()}, cores)


def _plans(program: DGSProgram, sample: Input) -> dict[str, Plan]:
    """Return plans that differ in one step each.

    - `alone`: one worker with one leaf; no synchronization.
    - `joined`: one worker with two leaves; forks and joins without hand-over.
    - `apart`: two workers, split by stream; with hand-overs.
    - `spread`: two workers, balanced; each skips the keys of the other.
    """
    request = PlanRequest(
        program=program, alphabet=sample.alphabet, streams=profile(sample), workers=2
    )
    apart_plan = by_stream(request).plan
    trees = tuple(replace(tree, root=_on_one(tree.root)) for tree in apart_plan.trees)
    return {
        "alone": by_stream(replace(request, workers=1)).plan,
        "joined": replace(apart_plan, trees=trees, workers=1),
        "apart": apart_plan,
        "spread": balanced(request).plan,
    }


def _on_one(node: PlanNode) -> PlanNode:
    """Return the tree below a node with all leaves on worker 0."""
    if not node.children:
        return replace(node, worker=0)
    return replace(node, children=tuple(_on_one(child) for child in node.children))


def _solve(ns: dict[str, float], steps: dict[str, tuple[Steps, ...]], cores: int) -> Costs:
    """Return the costs (at least 0) that explain the measured duration of each case."""
    start_ns = max(0.0, ns["start 2"] - ns["start 1"])
    costs = replace(_FREE, start_ns=start_ns, cores=cores)

    def cost_of(name: str, step: str) -> float:
        """Return a step's cost: the case's duration minus the costs found so far, divided by the step's occurrences."""
        start = ns["start 2" if name in _TWO_WORKER_CASES else "start 1"]
        explained_ns = max((worker.time_ns(costs) for worker in steps[name]), default=0.0)
        times = max((getattr(worker, step) for worker in steps[name]), default=0)
        return max(0.0, ns[name] - start - explained_ns) / times if times else 0.0

    costs = replace(costs, update_ns=cost_of("free", "updates"))
    if "across" in steps:
        costs = replace(costs, cross_ns=cost_of("across", "cross_updates"))
    costs = replace(costs, order_ns=cost_of("alone", "ordered"))
    if "joined" in steps:
        fork_join_ns = cost_of("joined", "local_joins")
        if any(worker.shared_joins for worker in steps["apart"]):
            # One worker also alternates between the inputs of both leaves.
            fork_join_ns = min(fork_join_ns, cost_of("apart", "shared_joins"))
        costs = replace(costs, fork_join_ns=fork_join_ns)
    if "joined" in steps or "across" in steps:
        costs = replace(costs, handover_ns=cost_of("apart", "shared_joins"))
    return replace(costs, skip_ns=cost_of("spread", "skipped")) if "spread" in steps else costs


def _steps(plan: Plan, data: Input) -> tuple[Steps, ...]:
    return predict(plan, profile(data), _FREE).steps


def _sample(program: DGSProgram, data: Input, time_plan: TimePlan) -> Input:
    """Return a beginning of an input whose runs last about `WANTED_NS`."""
    sample = _beginning(data, FIRST_EVENTS)
    plans = _plans(program, sample)
    # The first runs also compile, and touch their memory for the first time.
    alone_ns, apart_ns = time_plan(plans["alone"], sample), time_plan(plans["apart"], sample)
    for _ in range(GROWTH_STEPS):
        if apart_ns > MAX_NS:
            break
        alone_ns, apart_ns = (
            max(1.0, min(time_plan(plans[name], sample) for _ in range(2)))
            for name in ("alone", "apart")
        )
        factor = min(WANTED_NS / alone_ns, MAX_NS / apart_ns, MAX_EVENTS / max(1, sample.events))
        if factor < 2 or sample is data:
            break
        sample = _beginning(data, int(min(factor, MAX_LONGER) * sample.events))
    return sample


def _beginning(data: Input, events: int) -> Input:
    """Return about the first `events` events of an input, by event time; at least one."""
    if events >= data.events or not data.events:
        return data
    longest = max(data.streams, key=len)
    last_ts = longest.ts[min(len(longest) - 1, len(longest) * events // data.events)]
    return replace(
        data,
        streams=tuple(
            _rows(stream, slice(0, int(np.searchsorted(stream.ts, last_ts, side="right"))))
            for stream in data.streams
        ),
    )


def _drop_tags(data: Input, tags: frozenset[ImplTag]) -> Input:
    """Return an input without the events of some tags."""
    kinds = len(data.alphabet.kinds)
    streams = []
    for index, stream in enumerate(data.streams):
        removed_kinds = [tag.kind for tag in tags if tag.stream == index]
        if stream.tag is None:
            rows = slice(0, 0 if stream.kinds[0] in removed_kinds else len(stream))
            streams.append(_rows(stream, rows))
        elif removed_kinds:
            streams.append(_rows(stream, ~np.isin(stream.tag % kinds, removed_kinds)))
        else:
            streams.append(stream)
    return replace(data, streams=tuple(streams))


def _rows(stream: Stream, rows: slice | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Stream:
    ts = np.ascontiguousarray(stream.ts[rows])
    payload = {
        name: np.ascontiguousarray(column[rows])
        for name, column in stream.payload.items()
        if not isinstance(column, ListColumn)  # DGS programs cannot read lists.
    }
    last = ts[-1] if len(ts) else np.iinfo(np.int64).min
    return replace(
        stream,
        ts=ts,
        tag=None if stream.tag is None else np.ascontiguousarray(stream.tag[rows]),
        payload=payload,
        heartbeats=stream.heartbeats[stream.heartbeats <= last],
    )
