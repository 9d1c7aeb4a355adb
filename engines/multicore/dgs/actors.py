"""Builds the core's structures for a synchronization plan in the published form: actors, and the routes to them.

Each node of each tree is an actor with a mailbox, and so is each group of keys of an `across`.
A node's actor belongs to the node's worker. If the plan names no worker for an inner node, its actor belongs to the
worker of the first leaf below its second child. The inner nodes of a tree thus spread over the workers.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.dgs.kernels import Kernels, layout_of
from streamlab.engines.multicore.dgs.trees import (
    UNIT,
    Int32Array,
    Shape,
    Templates,
    aligned_storage,
    initial_state_of,
    round_up,
    tree_of_keys,
)
from streamlab.engines.multicore.dgs.wiring import groups_of, payload_of, record_widths
from streamlab.engines.multicore.run.core_run import stream_times
from streamlab.engines.protocol import OfferedLoad
from streamlab.workloads.model import Across, Input
from streamlab.workloads.model.dgs.plan import ImplTag, Plan, PlanNode, Tree

PRODUCER = -1
"""The number of a producer among the parents of an actor."""

_Spec = tuple[int, list[tuple[int, int]], list[tuple[int, list[int], int]]]
"""An actor for the core: worker; stream and parent of each flow; flow, waited-for tags and kernel of each tag."""


@dataclass(frozen=True, slots=True)
class _Tag:
    """A tag of an actor: its kind, its flow (core/dgs/node_actor.h), and the parent that sends its events."""

    kind: int
    flow: int
    parent: int


class _Mailbox:
    """The flows and tags of an actor. A child gives its parent's flows and tags the same numbers."""

    def __init__(self) -> None:
        self.flows: list[tuple[int, int]] = []  # stream and parent
        self.tags: list[_Tag] = []

    def add(self, tags: frozenset[ImplTag], parent: int = PRODUCER) -> None:
        """Add implementation tags that reach the actor from one parent."""
        for stream in sorted({tag.stream for tag in tags}):
            kinds = sorted(tag.kind for tag in tags if tag.stream == stream)
            self.tags += [_Tag(kind, len(self.flows), parent) for kind in kinds]
            self.flows.append((stream, parent))

    def below(self) -> "_Mailbox":
        """Return the part of a child's mailbox that this actor fills."""
        child = _Mailbox()
        child.flows = [(stream, 0) for stream, _ in self.flows]
        child.tags = [_Tag(tag.kind, tag.flow, 0) for tag in self.tags]
        return child

    def own_tags(self) -> Iterator[tuple[int, ImplTag]]:
        """Yield the tags that producers send, with their numbers."""
        for number, tag in enumerate(self.tags):
            if tag.parent == PRODUCER:
                yield number, ImplTag(tag.kind, self.flows[tag.flow][0])


class ActorWiring:
    """Builds the plan of a run on its core.

    Attributes:
        plan: the plan.
        workers_used: number of workers with actors.
    """

    def __init__(
        self, core: _core.MessageRun, data: Input, kernels: Kernels, load: OfferedLoad | None
    ) -> None:
        self.core = core
        self._data = data
        self._kernels = kernels
        self._load = load

    def record_bytes(self) -> dict[str, float]:
        """Return the bytes of events that the run reads, and of those that go to another worker."""
        widths = record_widths(self._data, self.plan.program)
        events = np.array([len(stream) for stream in self._data.streams])
        return {
            "record_bytes": float((events * widths).sum()),
            "record_bytes_moved": float((np.array(self.core.sent_to_others()) * widths).sum()),
        }

    def lay_out(self, plan: Plan) -> None:
        """Build a plan on the core, with the program's initial state.

        Raises:
            EngineError: a function of the program does not compile, or `init` raises.
        """
        self.plan, self._program = plan, plan.program
        self.workers_used = len({_worker(node) for tree in plan.trees for node in tree.root.walk()})
        self._dependent = plan.program.dependent_kinds()
        streams, keys = self._data.streams, plan.alphabet.keys
        self._tags = len(plan.program.kinds) * keys
        # By stream, then tag: the actor that owns the tag, and the tag's number at this actor.
        self._owner = np.full((len(streams), self._tags), -1, dtype=np.int32)
        self._number = np.zeros_like(self._owner)
        self._workers: list[int | None] = [None] * len(streams)
        templates = Templates(self.core, plan.program, self._kernels)
        shapes = [self._add_trees(templates, tree) for tree in plan.trees]
        self._add_crossings(shapes)
        initial = initial_state_of(plan.program)
        for shape in shapes:
            self.core.initialise(shape.first_tree, len(shape.keys), initial)
        for index in range(len(streams)):
            self._add_stream(index)

    def _add_trees(self, templates: Templates, tree: Tree) -> Shape:
        template, nodes, parent = templates.add(tree.root)
        mailboxes: list[_Mailbox] = []
        for index, node in enumerate(nodes):
            above = self._from_crossings() if index == 0 else mailboxes[parent[index]].below()
            above.add(node.tags)
            mailboxes.append(above)
        specs = [
            self._spec(mailbox, _worker(node), node.children == (), self._updates(node))
            for node, mailbox in zip(nodes, mailboxes, strict=True)
        ]
        first_tree = self.core.add_trees(template, specs, len(tree.keys))
        shape = Shape(nodes=nodes, parent=parent, keys=tree.keys, first_tree=first_tree)
        # The actors of a tree have consecutive numbers, and so have the trees of a shape.
        places = np.arange(len(tree.keys), dtype=np.int32) * len(nodes)
        roots = self.core.first_actor(first_tree) + places
        for index, (node, mailbox) in enumerate(zip(nodes, mailboxes, strict=True)):
            self._route_tags(mailbox, tree.keys, roots + index, _worker(node))
            if not node.children:
                self._place_states(shape, index)
        return shape

    def _updates(self, node: PlanNode) -> dict[ImplTag, int]:
        """Return the address of the update kernel for each tag of a node."""
        state = self._program.state(node.state)
        return {
            tag: self._kernels.run(
                state, layout_of(self._program, self._data.streams[tag.stream]), keyed=False
            )
            for tag in node.tags
        }

    def _place_states(self, shape: Shape, leaf: int) -> None:
        """Allocate the states of one leaf in all trees of a shape."""
        state = self._program.state(shape.nodes[leaf].state)
        stride = round_up(state.dtype.itemsize, UNIT)
        leaves = np.full(len(shape.keys), leaf, dtype=np.int32)
        storage = aligned_storage(stride * max(1, len(leaves)))
        self.core.place(shape.trees(), leaves, storage, stride)

    def _tags_across(self, across: Across) -> frozenset[ImplTag]:
        return frozenset(
            ImplTag(kind, index)
            for index, stream in enumerate(self._data.streams)
            for kind in stream.kinds
            if self._program.across_of(kind) is across
        )

    def _from_crossings(self) -> _Mailbox:
        """Return the part of a root's mailbox that crossings fill; each `across` is a parent of the root."""
        mailbox = _Mailbox()
        for parent, across in enumerate(self._program.across):
            mailbox.add(self._tags_across(across), parent)
        return mailbox

    def _add_crossings(self, shapes: list[Shape]) -> None:
        """Add an actor per `across` and group of keys, on the worker of the group's first root."""
        keys = self.plan.alphabet.keys
        tree_of = tree_of_keys(shapes, keys)
        worker_of = np.zeros(keys, dtype=np.int32)
        for shape in shapes:
            worker_of[shape.keys] = _worker(shape.nodes[0])
        first_flow = first_tag = 0
        for across in self._program.across:
            mailbox = _Mailbox()
            mailbox.add(self._tags_across(across))
            updates = {
                tag: self._kernels.across(
                    across, layout_of(self._program, self._data.streams[tag.stream])
                )
                for _, tag in mailbox.own_tags()
            }
            for number, members in groups_of(across, keys):
                worker = int(worker_of[members[0]])
                actor = self.core.add_crossing(
                    tree_of[members],
                    members,
                    across.dtype.itemsize,
                    across.max_outputs_for(len(members)),
                    self._spec(mailbox, worker, False, updates),
                    first_flow,
                    first_tag,
                )
                if number < keys:  # Otherwise no tag has this number.
                    group = np.array([number], dtype=np.int32)
                    self._route_tags(mailbox, group, np.array([actor], dtype=np.int32), worker)
            first_flow += len(mailbox.flows)
            first_tag += len(mailbox.tags)

    def _spec(
        self, mailbox: _Mailbox, worker: int, is_leaf: bool, updates: dict[ImplTag, int]
    ) -> _Spec:
        """Return the description of an actor for the core."""
        kernels = {number: updates[tag] for number, tag in mailbox.own_tags()}
        return (
            worker,
            mailbox.flows,
            [
                (tag.flow, self._waits(mailbox, number, is_leaf), kernels.get(number, 0))
                for number, tag in enumerate(mailbox.tags)
            ],
        )

    def _waits(self, mailbox: _Mailbox, number: int, is_leaf: bool) -> list[int]:
        """Return the tags that a tag waits for; see core/dgs/node_actor.h."""
        tag = mailbox.tags[number]
        other_tags = [(n, other) for n, other in enumerate(mailbox.tags) if n != number]
        if tag.parent != PRODUCER:
            return [n for n, other in other_tags if other.parent != tag.parent]
        if not is_leaf:
            return [n for n, _ in other_tags]
        key_kinds = self._program.key_kinds()
        return [
            n
            for n, other in other_tags
            if other.kind not in key_kinds or (tag.kind, other.kind) in self._dependent
        ]

    def _route_tags(
        self, mailbox: _Mailbox, keys: Int32Array, actors: Int32Array, worker: int
    ) -> None:
        """Route the events of a mailbox's own tags to a worker's actors; `keys` are the actors' keys or groups."""
        for number, tag in mailbox.own_tags():
            codes = tag.kind + len(self._program.kinds) * keys.astype(np.int64)
            self._owner[tag.stream, codes] = actors
            self._number[tag.stream, codes] = number
            first_worker = self._workers[tag.stream]
            self._workers[tag.stream] = (
                worker if first_worker is None else min(first_worker, worker)
            )

    def _add_stream(self, index: int) -> None:
        """Add a stream, whose producer belongs to the first worker with actors for its events."""
        stream = self._data.streams[index]
        payload = list(payload_of(stream, self._program))
        heartbeats, *due_times = stream_times(index, stream, self._load)
        worker = self._workers[index] or 0
        self.core.add_stream(stream.ts, stream.tag, payload, heartbeats, worker, *due_times)
        if stream.tag is None:
            tag = slice(stream.kinds[0], stream.kinds[0] + 1)
            self.core.route(index, self._owner[index, tag].copy(), self._number[index, tag].copy())
        else:
            self.core.route(index, self._owner[index], self._number[index])


def _worker(node: PlanNode) -> int:
    """Return the worker of a node's actor."""
    if node.worker >= 0:
        return node.worker
    node = node.children[1]
    while node.children:
        node = node.children[0]
    return node.worker
