"""How long a plan takes, by measured costs of its steps and the frequencies of its events."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamlab.workloads.model.dgs.plan import ImplTag, Plan, PlanNode, Tree
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.optimizers.request import Costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What one worker does in a plan; of synchronizations each level counts.

    Attributes:
        updates: events that its leaves process in runs.
        ordered: events that its leaves process alone.
        met: synchronizations that it takes part in, times levels, where other workers do as well.
        alone: likewise, where it has all leaves below.
        skipped: events that it passes over.
        crossed: states that events across keys change, which one of those that meet there does
            while the others wait.
    """

    updates: int = 0
    ordered: int = 0
    met: int = 0
    alone: int = 0
    skipped: int = 0
    crossed: int = 0

    def work_ns(self, costs: Costs) -> float:
        """Return the time that it computes."""
        return (
            self.updates * costs.update_ns
            + self.ordered * costs.order_ns
            + (self.met + self.alone) * costs.fork_join_ns
            + self.skipped * costs.skip_ns
        )

    def time_ns(self, costs: Costs) -> float:
        """Return the time that it computes or waits for a hand-over."""
        waiting_ns = self.met * costs.handover_ns + self.crossed * costs.cross_ns
        return self.work_ns(costs) + waiting_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """How long a plan takes.

    Attributes:
        duration_ns: of the whole input.
        events: in the input.
        steps: of each worker with leaves.
        synchronizations: of the whole plan.
    """

    duration_ns: float
    events: int
    steps: tuple[Steps, ...]
    synchronizations: int

    @property
    def event_ns(self) -> float:
        """Time for each event."""
        return self.duration_ns / max(1, self.events)


def predict(plan: Plan, streams: Sequence[StreamProfile], costs: Costs) -> Prediction:
    """Return how long a plan takes: as long as its slowest worker, or as its cores are few.

    A synchronization of several levels hands over at each. Whoever waits because another has more
    to do before the same synchronization is not counted, so with few events between two, or uneven
    ones, it errs on the side of more workers.

    Args:
        plan: a valid plan.
        streams: how many events of each tag there are.
        costs: measured.
    """
    workers: dict[int, dict[str, int]] = {}
    reads: dict[int, set[int]] = {}
    synchronizations = 0
    for tree in plan.trees:
        events = _tag_events(tree, streams)
        synchronizations += _count(tree.root, events, workers, reads, above=frozenset())
    synchronizations += _count_across(plan, streams, workers, reads)
    found = []
    for worker, counted in workers.items():
        read = sum(streams[index].events for index in reads[worker])
        seen = counted.pop("seen")
        found.append(Steps(**counted, skipped=max(0, read - seen)))
    used = max(1, len(found))
    slowest = max((steps.time_ns(costs) for steps in found), default=0.0)
    shared = sum(steps.work_ns(costs) for steps in found) / min(used, costs.cores)
    return Prediction(
        duration_ns=max(slowest, shared) + (used - 1) * costs.start_ns,
        events=sum(stream.events for stream in streams),
        steps=tuple(found),
        synchronizations=synchronizations,
    )


def _tag_events(tree: Tree, streams: Sequence[StreamProfile]) -> dict[ImplTag, int]:
    counts = [stream.counts[tree.keys].sum(axis=0) for stream in streams]
    return {
        tag: int(counts[tag.stream][tag.kind]) for node in tree.root.walk() for tag in node.tags
    }


def _count(
    node: PlanNode,
    events: dict[ImplTag, int],
    workers: dict[int, dict[str, int]],
    reads: dict[int, set[int]],
    above: frozenset[ImplTag],
) -> int:
    """Count a node's steps and those below; return its synchronizations and those below."""
    here = sum(events[tag] for tag in node.tags)
    if not node.children:
        counted = workers.setdefault(
            node.worker,
            {"updates": 0, "ordered": 0, "met": 0, "alone": 0, "seen": 0, "crossed": 0},
        )
        ordered = sum(events[tag] for tag in node.ordering)
        counted["updates"] += here - ordered
        counted["ordered"] += ordered
        counted["seen"] += here + sum(events[tag] for tag in above)
        reads.setdefault(node.worker, set()).update(tag.stream for tag in node.tags | above)
        return 0
    below = _workers(node)
    total = sum(_count(child, events, workers, reads, above | node.tags) for child in node.children)
    _meet(below, here * _height(node), workers)
    return total + here


def _count_across(
    plan: Plan,
    streams: Sequence[StreamProfile],
    workers: dict[int, dict[str, int]],
    reads: dict[int, set[int]],
) -> int:
    """Count the steps of events across keys: in the trees of their keys, and above; return them."""
    program, keys = plan.program, plan.alphabet.keys
    tree_of = np.empty(keys, np.int64)
    for index, tree in enumerate(plan.trees):
        tree_of[tree.keys] = index
    below = [_workers(tree.root) for tree in plan.trees]
    levels = [_height(tree.root) for tree in plan.trees]
    total = 0
    for across in program.across:
        kinds = list(program.kind_indices(across.kinds))
        group_of = across.groups(keys)
        counts = np.stack([stream.counts[:, kinds].sum(axis=1) for stream in streams])
        for group in np.flatnonzero(counts.sum(axis=0)).tolist():
            events = int(counts[:, group].sum())
            its, members = np.unique(tree_of[group_of == group], return_counts=True)
            concerned = set().union(*(below[tree] for tree in its.tolist()))
            for tree, states in zip(its.tolist(), members.tolist(), strict=True):
                _meet(below[tree], events * states * levels[tree], workers)
            if len(concerned) > 1:
                _meet(concerned, events, workers)
            for worker in concerned:
                workers[worker]["crossed"] += events * int(members.sum())
                workers[worker]["seen"] += events
                reads[worker].update(np.flatnonzero(counts[:, group]).tolist())
            total += events
    return total


def _workers(node: PlanNode) -> set[int]:
    return {leaf.worker for leaf in node.walk() if not leaf.children}


def _meet(who: set[int], steps: int, workers: dict[int, dict[str, int]]) -> None:
    for worker in who:
        workers[worker]["met" if len(who) > 1 else "alone"] += steps


def _height(node: PlanNode) -> int:
    return 1 + max(_height(child) for child in node.children) if node.children else 0
