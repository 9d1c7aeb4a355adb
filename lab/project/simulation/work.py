"""What a plan's workers have to do, from how often each tag occurs: the simulation's input.

Trees of one shape, one a key, count as one: a mailbox takes the events of all its keys in their
order and waits in one synchronization at a time, whichever key it is of.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from workloads.model.errors import PlanError
from workloads.model.plan import ImplTag, Plan, PlanNode, Tree
from workloads.model.profile import StreamProfile
from workloads.model.program import DGSProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A tree, its nodes in preorder.

    Attributes:
        parent: of each node; -1: the root.
        children: of each node; none: a leaf.
        worker: of each leaf; of an inner node its first leaf's.
        state_bytes: of each node's state.
    """

    parent: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    worker: tuple[int, ...]
    state_bytes: tuple[int, ...]

    def is_below(self, node: int, above: int) -> bool:
        """Return whether a node is `above` or below it."""
        while node > above:
            node = self.parent[node]
        return node == above


@dataclass(frozen=True, slots=True, kw_only=True)
class Strand:
    """A mailbox: leaves of one worker that take turns, as they share streams.

    Attributes:
        worker: whose it is.
        leaves: the leaf in each tree, by the tree's index.
        updates, ordered, skipped: events, as in `workloads.optimizers.prediction.Steps`.
    """

    worker: int
    leaves: dict[int, int]
    updates: float
    ordered: float
    skipped: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Synchronizations at one node of one tree, and how many there are."""

    tree: int
    node: int
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is to be done.

    Attributes:
        shapes: the trees.
        strands: who works.
        meetings: where strands wait for each other.
        events: in the whole input.
        event_bytes: that are read from memory for an event.
    """

    shapes: tuple[Shape, ...]
    strands: tuple[Strand, ...]
    meetings: tuple[Meeting, ...]
    events: int
    event_bytes: float = 0.0

    @property
    def synchronizations(self) -> int:
        """Number of synchronizations."""
        return sum(meeting.times for meeting in self.meetings)

    @property
    def workers(self) -> int:
        """Number of workers that have something to do."""
        return len({strand.worker for strand in self.strands})


def require_simulated(program: DGSProgram) -> None:
    """Refuse a program whose plans are not simulated.

    Raises:
        PlanError: it has events across keys, which no tree of a plan has.
    """
    if program.across:
        raise PlanError(
            f"program {program.name} has events across keys "
            f"({', '.join(one.name for one in program.across)}), which the simulation of "
            "plans does not know; project a program whose events have one key each"
        )


def work_of(plan: Plan, streams: Sequence[StreamProfile]) -> Work:
    """Return what the workers of a plan do on an input.

    Raises:
        PlanError: the program has events across keys, which no tree of the plan has.
    """
    require_simulated(plan.program)
    trees = [_Counted.of(tree, streams) for tree in plan.trees]
    sizes = {state.name: state.dtype.itemsize for state in plan.program.states}
    shapes = tuple(_shape(counted.nodes, sizes) for counted in trees)
    events = sum(stream.events for stream in streams)
    return Work(
        shapes=shapes,
        strands=tuple(_strands(trees, shapes, streams)),
        meetings=tuple(
            Meeting(tree=index, node=place, times=counted.of_node(node))
            for index, counted in enumerate(trees)
            for place, node in enumerate(counted.nodes)
            if node.children and counted.of_node(node)
        ),
        events=events,
        event_bytes=_event_bytes(plan, streams, events),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """A tree's nodes in preorder, and how often its tags occur in its keys."""

    nodes: tuple[PlanNode, ...]
    events: dict[ImplTag, int]

    @classmethod
    def of(cls, tree: Tree, streams: Sequence[StreamProfile]) -> "_Counted":
        nodes = tuple(tree.root.walk())
        counts = [stream.counts[tree.keys].sum(axis=0) for stream in streams]
        events = {tag: int(counts[tag.stream][tag.kind]) for node in nodes for tag in node.tags}
        return cls(nodes=nodes, events=events)

    def of_node(self, node: PlanNode) -> int:
        return sum(self.events[tag] for tag in node.tags)


def _shape(nodes: Sequence[PlanNode], sizes: dict[str, int]) -> Shape:
    place = {id(node): index for index, node in enumerate(nodes)}
    children = tuple(tuple(place[id(child)] for child in node.children) for node in nodes)
    parent = [-1] * len(nodes)
    for above, below in enumerate(children):
        for child in below:
            parent[child] = above
    first = [next(n for n in node.walk() if not n.children).worker for node in nodes]
    return Shape(
        parent=tuple(parent),
        children=children,
        worker=tuple(first),
        state_bytes=tuple(sizes[node.state] for node in nodes),
    )


def _strands(
    trees: Sequence[_Counted], shapes: Sequence[Shape], streams: Sequence[StreamProfile]
) -> list[Strand]:
    """Group leaves as the core's mailboxes do (`engines.multicore.dgs.wiring`)."""
    groups: list[tuple[int, set[int], dict[int, int]]] = []
    for tree, counted in enumerate(trees):
        for leaf, node in enumerate(counted.nodes):
            if node.children:
                continue
            own = {tag.stream for tag in node.tags}
            for worker, common, leaves in groups:
                if worker == node.worker and common & own and tree not in leaves:
                    common |= own
                    leaves[tree] = leaf
                    break
            else:
                groups.append((node.worker, own, {tree: leaf}))
    return [_strand(worker, leaves, trees, shapes, streams) for worker, _, leaves in groups]


def _strand(
    worker: int,
    leaves: dict[int, int],
    trees: Sequence[_Counted],
    shapes: Sequence[Shape],
    streams: Sequence[StreamProfile],
) -> Strand:
    updates = ordered = seen = 0
    read: set[int] = set()
    for tree, leaf in leaves.items():
        counted, shape = trees[tree], shapes[tree]
        node = counted.nodes[leaf]
        in_order = sum(counted.events[tag] for tag in node.ordering)
        updates += counted.of_node(node) - in_order
        ordered += in_order
        at = leaf
        while at >= 0:
            seen += counted.of_node(counted.nodes[at])
            read |= {tag.stream for tag in counted.nodes[at].tags}
            at = shape.parent[at]
    passed = sum(streams[index].events for index in read)
    return Strand(
        worker=worker,
        leaves=leaves,
        updates=updates,
        ordered=ordered,
        skipped=max(0, passed - seen),
    )


TS_BYTES, TAG_BYTES = 8, 4


def _event_bytes(plan: Plan, streams: Sequence[StreamProfile], events: int) -> float:
    """Return the bytes of an event's columns, on average: timestamp, tag, and the program's fields.

    Kinds without fields count as if they had them, so it errs on the side of too many.
    """
    tagged = sum(
        stream.events for stream in streams if len(stream.kinds) > 1 or plan.alphabet.keys > 1
    )
    return TS_BYTES + plan.program.event.itemsize + TAG_BYTES * tagged / max(1, events)
