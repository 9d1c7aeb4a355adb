"""Predicts the duration of a plan from measured costs of its steps and its numbers of events."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamlab.workloads.model.dgs.plan import ImplTag, Plan, PlanNode, Tree
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.optimizers.request import Costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Counts what one worker does in a plan. A synchronization counts once for each level.

    Attributes:
        updates: events that its leaves process in runs of events.
        ordered: events before each of which a leaf finishes its other streams.
        shared_joins: synchronizations with other workers, times levels.
        local_joins: synchronizations in which it owns all leaves below, times levels.
        skipped: events of other workers that it skips.
        cross_updates: states that events across keys change. One of the synchronizing workers changes
            them while the others wait.
    """

    updates: int = 0
    ordered: int = 0
    shared_joins: int = 0
    local_joins: int = 0
    skipped: int = 0
    cross_updates: int = 0

    def work_ns(self, costs: Costs) -> float:
        """Return the time in which the worker computes."""
        return (
            self.updates * costs.update_ns
            + self.ordered * costs.order_ns
            + (self.shared_joins + self.local_joins) * costs.fork_join_ns
            + self.skipped * costs.skip_ns
        )

    def time_ns(self, costs: Costs) -> float:
        """Return the time in which the worker computes or waits for a hand-over."""
        waiting_ns = self.shared_joins * costs.handover_ns + self.cross_updates * costs.cross_ns
        return self.work_ns(costs) + waiting_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The predicted duration of a plan.

    Attributes:
        duration_ns: time for the whole input.
        events: events in the input.
        steps: steps of each worker with leaves.
        synchronizations: synchronizations of the whole plan.
    """

    duration_ns: float
    events: int
    steps: tuple[Steps, ...]
    synchronizations: int

    @property
    def event_ns(self) -> float:
        """Time for each event."""
        return self.duration_ns / max(1, self.events)


_COUNTED = ("updates", "ordered", "shared_joins", "local_joins", "handled", "cross_updates")
"""The counts of a worker while they are added up; `handled` counts the events that it does not skip."""


def predict(plan: Plan, streams: Sequence[StreamProfile], costs: Costs) -> Prediction:
    """Predict how long a plan takes: the time of its slowest worker or all work per core, whichever is longer.

    A synchronization of several levels hands over at each level. The prediction leaves out waits
    for a worker that has more to do before the same synchronization. It therefore favours more
    workers when synchronizations are frequent or uneven.
    """
    workers: dict[int, dict[str, int]] = {}
    reads: dict[int, set[int]] = {}
    synchronizations = 0
    for tree in plan.trees:
        events = _tag_events(tree, streams)
        synchronizations += _add_tree_steps(tree.root, events, workers, reads, above=frozenset())
    synchronizations += _add_cross_key_steps(plan, streams, workers, reads)
    steps_of = []
    for worker, counts in workers.items():
        read = sum(streams[index].events for index in reads[worker])
        handled = counts.pop("handled")
        steps_of.append(Steps(**counts, skipped=max(0, read - handled)))
    used_workers = max(1, len(steps_of))
    slowest = max((steps.time_ns(costs) for steps in steps_of), default=0.0)
    shared = sum(steps.work_ns(costs) for steps in steps_of) / min(used_workers, costs.cores)
    return Prediction(
        duration_ns=max(slowest, shared) + (used_workers - 1) * costs.start_ns,
        events=sum(stream.events for stream in streams),
        steps=tuple(steps_of),
        synchronizations=synchronizations,
    )


def _tag_events(tree: Tree, streams: Sequence[StreamProfile]) -> dict[ImplTag, int]:
    counts = [stream.counts[tree.keys].sum(axis=0) for stream in streams]
    return {
        tag: int(counts[tag.stream][tag.kind]) for node in tree.root.walk() for tag in node.tags
    }


def _add_tree_steps(
    node: PlanNode,
    events: dict[ImplTag, int],
    workers: dict[int, dict[str, int]],
    reads: dict[int, set[int]],
    above: frozenset[ImplTag],
) -> int:
    """Add the steps of a node and its subtree to `workers`; return their synchronizations."""
    node_events = sum(events[tag] for tag in node.tags)
    if not node.children:
        counts = workers.setdefault(node.worker, dict.fromkeys(_COUNTED, 0))
        ordered = sum(events[tag] for tag in node.ordering)
        counts["updates"] += node_events - ordered
        counts["ordered"] += ordered
        counts["handled"] += node_events + sum(events[tag] for tag in above)
        reads.setdefault(node.worker, set()).update(tag.stream for tag in node.tags | above)
        return 0
    members = _workers(node)
    total = sum(
        _add_tree_steps(child, events, workers, reads, above | node.tags) for child in node.children
    )
    _meet(members, node_events * _height(node), workers)
    return total + node_events


def _add_cross_key_steps(
    plan: Plan,
    streams: Sequence[StreamProfile],
    workers: dict[int, dict[str, int]],
    reads: dict[int, set[int]],
) -> int:
    """Add the steps of events across keys to `workers`; return the number of these events."""
    program, keys = plan.program, plan.alphabet.keys
    tree_of = np.empty(keys, np.int64)
    for index, tree in enumerate(plan.trees):
        tree_of[tree.keys] = index
    tree_workers = [_workers(tree.root) for tree in plan.trees]
    levels = [_height(tree.root) for tree in plan.trees]
    total = 0
    for across in program.across:
        kinds = list(program.kind_indices(across.kinds))
        group_of = across.groups(keys)
        counts = np.stack([stream.counts[:, kinds].sum(axis=1) for stream in streams])
        for group in np.flatnonzero(counts.sum(axis=0)).tolist():
            events = int(counts[:, group].sum())
            trees, members = np.unique(tree_of[group_of == group], return_counts=True)
            affected = set().union(*(tree_workers[tree] for tree in trees.tolist()))
            for tree, states in zip(trees.tolist(), members.tolist(), strict=True):
                _meet(tree_workers[tree], events * states * levels[tree], workers)
            if len(affected) > 1:
                _meet(affected, events, workers)
            for worker in affected:
                workers[worker]["cross_updates"] += events * int(members.sum())
                workers[worker]["handled"] += events
                reads[worker].update(np.flatnonzero(counts[:, group]).tolist())
            total += events
    return total


def _workers(node: PlanNode) -> set[int]:
    return {leaf.worker for leaf in node.walk() if not leaf.children}


def _meet(members: set[int], steps: int, workers: dict[int, dict[str, int]]) -> None:
    """Add `steps` joins to the counts of each worker of `members` in `workers`; one member joins locally."""
    for worker in members:
        workers[worker]["shared_joins" if len(members) > 1 else "local_joins"] += steps


def _height(node: PlanNode) -> int:
    return 1 + max(_height(child) for child in node.children) if node.children else 0
