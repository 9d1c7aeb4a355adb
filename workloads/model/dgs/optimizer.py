"""Makes synchronization plans (DGS paper, section 3.3); `streamlab.workloads.optimizers` selects one.

Tags that need no synchronization become leaves, placed on the worker of their stream. A tag on which others depend goes
to the lowest common ancestor of the tags that depend on it. Keyed programs get one tree per key. An unkeyed program
with a disconnected dependence graph gets a root without tags, which forks the initial state and never synchronizes.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from streamlab.workloads.model.dgs.dependence import DependenceGraph, Split, keys_together
from streamlab.workloads.model.dgs.placement import Placement, place
from streamlab.workloads.model.dgs.plan import ImplTag, Plan, PlanNode, Tree
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.dgs.stream_profile import StreamProfile, within_keys
from streamlab.workloads.model.errors import PlanError
from streamlab.workloads.model.streams.tag import Alphabet


def choose_plan(
    program: DGSProgram, alphabet: Alphabet, streams: Sequence[StreamProfile], workers: int
) -> Plan:
    """Return a valid plan for at most `workers` workers.

    Greedy, not optimal: it maximises the events that leaves process, not a measured cost. Workers
    without independent work get no leaves.

    Raises:
        PlanError: Fewer than one worker, no streams, or kinds that do not fit the program.
    """
    check_arguments(program, alphabet, streams, workers)
    streams = within_keys(program, streams)
    reading = reading_streams(program, streams)
    placement = place(
        streams, reading, alphabet.keys, workers, together=keys_together(program, alphabet.keys)
    )
    return plan_for_placement(program, alphabet, streams, workers, placement)


def reading_streams(program: DGSProgram, streams: Sequence[StreamProfile]) -> list[int]:
    """Return the streams that determine the placement of leaves, ascending."""
    return sorted({tag.stream for tag in _leaf_tags(_graph(program, streams))})


def synchronizing_events(program: DGSProgram, streams: Sequence[StreamProfile]) -> int:
    """Return the number of events that need synchronization, because no leaf owns their tags."""
    leaves = _leaf_tags(_graph(program, streams))
    leaf_events = sum(int(streams[tag.stream].kind_events[tag.kind]) for tag in leaves)
    return sum(stream.events for stream in streams) - leaf_events


def plan_for_placement(
    program: DGSProgram,
    alphabet: Alphabet,
    streams: Sequence[StreamProfile],
    workers: int,
    placement: Placement,
) -> Plan:
    """Return the plan for the worker of each key in each stream of `reading_streams`."""
    graph = _graph(program, streams)
    leaf_tags_of_graph = _leaf_tags(graph)
    placement, occurs = _by_occurrence(program, streams, placement)
    shapes, shape_of = np.unique(np.hstack([placement, occurs]), axis=0, return_inverse=True)
    trees = []
    for index, shape in enumerate(shapes.tolist()):
        tree_graph, leaf_tags = graph, leaf_tags_of_graph
        if not all(shape[len(streams) :]):
            rates = {
                tag: graph.rates[tag] for tag in graph.rates if shape[len(streams) + tag.stream]
            }
            tree_graph = DependenceGraph.from_rates(program, rates)
            # A tag that synchronizes in other trees may be the only tag of this tree.
            leaf_tags = leaf_tags_of_graph & tree_graph.rates.keys() or _leaf_tags(tree_graph)
        # Streams without a placement use the worker of another stream of the same key.
        places = shape[: len(streams)]
        placed = max(places)
        worker_of = {
            tag: places[tag.stream] if places[tag.stream] >= 0 else placed for tag in leaf_tags
        }
        root = grow(program, tree_graph, worker_of, tree_graph.split)
        keys = np.flatnonzero(shape_of.reshape(-1) == index).astype(np.int32)
        trees.append(Tree(root=root, keys=keys))
    names = tuple(stream.name for stream in streams)
    return Plan(
        program=program, alphabet=alphabet, streams=names, workers=workers, trees=tuple(trees)
    )


def grow(
    program: DGSProgram,
    graph: DependenceGraph,
    worker_of: Mapping[ImplTag, int],
    split: Callable[[Collection[ImplTag]], Split],
) -> PlanNode:
    """Return the tree over all tags of a key's graph, or a single leaf if no fork-joins fit a larger tree.

    `worker_of` has the worker of each tag that a leaf may own. A leaf runs on the worker of its tag with
    the highest rate.
    """
    if not graph.rates:  # events across keys only
        return PlanNode(state=program.states[0].name, tags=frozenset(), worker=0)
    return _Grower(program=program, graph=graph, worker_of=worker_of, split=split).tree()


def _graph(program: DGSProgram, streams: Sequence[StreamProfile]) -> DependenceGraph:
    rates = {
        ImplTag(kind, index): int(stream.kind_events[kind])
        for index, stream in enumerate(within_keys(program, streams))
        for kind in stream.kinds
    }
    return DependenceGraph.from_rates(program, rates)


def _by_occurrence(
    program: DGSProgram, streams: Sequence[StreamProfile], placement: Placement
) -> tuple[Placement, Placement]:
    """Return the placement of keys, and int32[keys, streams]: 1 if the key's tree reads the stream, else 0.

    A tree reads all streams, unless the program has events across keys and its keys are partitioned
    among streams. Then a tree reads only streams with its key. Keys without events follow the key before
    them, because the keys of a group are often consecutive.
    """
    profiles = within_keys(program, streams)
    occurs = np.stack([stream.key_events > 0 for stream in profiles], axis=1)
    active = np.flatnonzero(occurs.any(axis=1))
    if (
        not program.across
        or not len(active)
        or len(np.unique(occurs[active], axis=0)) > len(streams)
    ):
        return placement, np.ones(occurs.shape, np.int32)
    active_before = np.searchsorted(active, np.arange(len(occurs)), side="right") - 1
    source_key = active[np.maximum(active_before, 0)]
    return placement[source_key], occurs[source_key].astype(np.int32)


def _leaf_tags(graph: DependenceGraph) -> frozenset[ImplTag]:
    """Return the tags of leaves, which need no synchronization."""
    return frozenset().union(*(graph.leaf_tags(part) for part in graph.components(graph.rates)))


def check_arguments(
    program: DGSProgram, alphabet: Alphabet, streams: Sequence[StreamProfile], workers: int
) -> None:
    """Check the arguments for a plan.

    Raises:
        PlanError: Fewer than one worker, no streams, or kinds that do not fit the program.
    """
    where = f"plan for program {program.name}"
    if workers < 1:
        raise PlanError(f"{where}: workers is {workers}; it must be at least 1")
    if not streams:
        raise PlanError(f"{where}: there are no streams; give at least one")
    if alphabet.kinds != program.kinds:
        raise PlanError(f"{where}: the alphabet has kinds {alphabet.kinds}, not {program.kinds}")
    if alphabet.keys > 1 and not program.keyed:
        raise PlanError(f"{where}: {alphabet.keys} keys, but the program is not keyed; use 1 key")
    shape = (alphabet.keys, len(alphabet.kinds))
    for stream in streams:
        if stream.counts.shape != shape:
            raise PlanError(
                f"{where}: stream {stream.name} has counts of shape {stream.counts.shape}; "
                f"expected (keys, kinds) = {shape}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grower:
    """Grows the tree for one assignment of free tags to workers."""

    program: DGSProgram
    graph: DependenceGraph
    worker_of: Mapping[ImplTag, int]
    split: Callable[[Collection[ImplTag]], Split]

    def tree(self) -> PlanNode:
        """Return the tree over all tags; see `grow`."""
        tags = frozenset(self.graph.rates)
        initial = self.program.states[0].name
        return self._assign(self._grow(tags), initial) or replace(self._leaf(tags), state=initial)

    def _workers(self, tags: frozenset[ImplTag]) -> set[int]:
        return {self.worker_of[tag] for tag in tags if tag in self.worker_of}

    def _leaf(self, tags: frozenset[ImplTag]) -> PlanNode:
        placed_tags = [tag for tag in tags if tag in self.worker_of]
        heaviest = max(placed_tags, key=lambda tag: (self.graph.rates[tag], -tag.stream))
        return PlanNode(
            state="",
            tags=tags,
            ordering=self.graph.ordering(tags),
            worker=self.worker_of[heaviest],
        )

    def _grow(self, tags: frozenset[ImplTag]) -> PlanNode:
        """Return the tree over `tags`, without state types yet."""
        if len(self._workers(tags)) < 2:
            return self._leaf(tags)
        split = self.split(tags)
        if len(split.parts) < 2 or len(self._workers(tags - split.removed)) < 2:
            return self._leaf(tags)
        together: dict[int, frozenset[ImplTag]] = {}
        spread = []
        for part in split.parts:
            workers = self._workers(part)
            if len(workers) == 1:
                worker = workers.pop()
                together[worker] = together.get(worker, frozenset()) | part
            else:
                spread.append(part)
        children = [self._grow(together[worker]) for worker in sorted(together)]
        children += [self._grow(part) for part in spread]
        return self._combine(children, split.removed)

    def _combine(self, nodes: Sequence[PlanNode], tags: frozenset[ImplTag]) -> PlanNode:
        """Return a balanced binary tree over `nodes` whose root owns `tags`."""
        if len(nodes) == 1:
            return nodes[0]
        half = (len(nodes) + 1) // 2
        nothing: frozenset[ImplTag] = frozenset()
        children = (self._combine(nodes[:half], nothing), self._combine(nodes[half:], nothing))
        return PlanNode(state="", tags=tags, children=children)

    def _assign(self, node: PlanNode, state: str) -> PlanNode | None:
        """Return the tree with state types, `state` at the root; None if no fork-joins fit."""
        if not node.kinds() <= self.program.kinds_of(self.program.state(state)):
            return None
        if not node.children:
            return replace(node, state=state)
        a, b = node.children
        for pair in self.program.parallel:
            if pair.parent != state:
                continue
            for left, right in ((a, b), (b, a)):
                first, second = self._assign(left, pair.first), self._assign(right, pair.second)
                if first is not None and second is not None:
                    return replace(node, state=state, children=(first, second))
        return None
