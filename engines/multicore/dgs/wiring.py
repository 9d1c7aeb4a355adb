"""Builds the core's structures for a synchronization plan in this lab's form: trees, mailboxes, lanes and states.

A worker's leaves with a common stream share one mailbox, so that the worker reads the stream once.
Leaves without a common stream have separate mailboxes, so that no leaf waits for another leaf's synchronizations.
Two leaves of one tree never share a mailbox, because each must arrive at a synchronization separately.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.dgs.kernels import Kernels, layout_of
from streamlab.engines.multicore.dgs.snapshots import JoinedStates, Layout
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
from streamlab.engines.multicore.run.core_run import stream_times
from streamlab.engines.protocol import OfferedLoad
from streamlab.workloads.model import Across, DGSProgram, Input, ListColumn, StateType, Stream
from streamlab.workloads.model.dgs.plan import ImplTag, Plan, PlanNode
from streamlab.workloads.model.dgs.plan_text import plan_text
from streamlab.workloads.optimizers.cost import plan_workers


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phase:
    """The part of a run under one plan.

    Attributes:
        begins: position in each stream at which the phase begins.
        owners: each stream's owner.
        readers: each stream's readers.
    """

    begins: tuple[int, ...]
    owners: list[int] = field(default_factory=list)
    readers: list[set[int]]


class Wiring:
    """Builds the plans of a run on its core, one after the other; a run without changes has one plan.

    Attributes:
        core: the core's run, which keeps references to the arrays that it borrows.
        plan: the latest plan.
        workers_used: maximum number of workers with leaves in a plan.
    """

    plan: Plan

    def __init__(
        self, core: _core.DgsRun, data: Input, kernels: Kernels, load: OfferedLoad | None
    ) -> None:
        self.core = core
        self._data = data
        self._kernels = kernels
        self._load = load
        self._phases: list[_Phase] = []
        self._leaves: list[tuple[Int32Array, npt.NDArray[np.uint8]]] = []
        self.workers_used = 0

    def record_bytes(self) -> dict[str, float]:
        """Return the bytes of events that the run reads, and of those that move between workers.

        An event moves once for each reading worker that does not own its stream. Under a load the
        generator owns all streams, so nothing moves.
        """
        begins = np.array([phase.begins for phase in self._phases])
        ends = np.array([len(stream) for stream in self._data.streams])
        events = np.diff(begins, axis=0, append=ends[None])
        width = record_widths(self._data, self._program)
        moves = [
            [
                len(readers - {owner})
                for readers, owner in zip(phase.readers, phase.owners, strict=True)
            ]
            for phase in self._phases
        ]
        moved_bytes = (events * width * np.array(moves)).sum() if self._load is None else 0
        return {
            "record_bytes": float((events * width).sum()),
            "record_bytes_moved": float(moved_bytes),
        }

    def lay_out(
        self, plan: Plan, states: JoinedStates | None, positions: tuple[int, ...] = ()
    ) -> Layout:
        """Build a plan on the core, after the removal of the previous plan; return the layout of its states.

        Args:
            plan: the plan.
            states: states from which the plan resumes; None for the program's initial state.
            positions: positions in the streams from which the plan resumes; empty for their beginnings.

        Raises:
            EngineError: a function of the program does not compile, or `init` raises.
            UnsupportedError: leaves of different state types share a stream on one worker.
        """
        self.plan, self._program = plan, plan.program
        self.workers_used = max(self.workers_used, plan_workers(plan))
        streams = len(self._data.streams)
        phase = _Phase(begins=positions or (0,) * streams, readers=[set() for _ in range(streams)])
        self._phases.append(phase)
        templates = Templates(self.core, self._program, self._kernels)
        shapes = [self._add_shape(templates, tree.root, tree.keys) for tree in self.plan.trees]
        groups = [group for worker in range(self.plan.workers) for group in _groups(shapes, worker)]
        self._add_streams(groups)
        mailboxes = [self._add_mailbox(group) for group in groups]
        crossings = self._add_crossings(shapes)
        for group, mailbox in zip(groups, mailboxes, strict=True):
            self._add_lanes(group, mailbox, crossings)
        initial = initial_state_of(self._program)
        for shape in shapes:
            trees, key_states = len(shape.keys), initial
            if states is not None:  # Fork joined states down the trees.
                of_keys = np.frombuffer(states.states, dtype=np.uint8).reshape(-1, len(initial))
                key_states = of_keys[shape.keys].tobytes()
            per_tree = states is not None
            self.core.initialise(shape.first_tree, trees, key_states, each=per_tree)
        for key, group_state in states.groups.items() if states else ():
            self.core.set_group_state(crossings[key], group_state)
        return Layout(
            tree_of=tree_of_keys(shapes, self.plan.alphabet.keys),
            state_bytes=len(initial),
            crossings=crossings,
            plan=plan_text(self.plan),
        )

    def leaf_states(self, layout: Layout) -> npt.NDArray[np.uint8]:
        """Return uint8[keys, state_bytes]: the state of each key after a run of one plan without inner nodes."""
        of_tree = np.empty((len(layout.tree_of), layout.state_bytes), dtype=np.uint8)
        for trees, storage in self._leaves:
            of_tree[trees] = storage[:, : layout.state_bytes]
        return of_tree[layout.tree_of]

    def _add_shape(self, templates: Templates, root: PlanNode, keys: Int32Array) -> Shape:
        template, nodes, parent = templates.add(root)
        first_tree = self.core.add_trees(template, len(keys))
        return Shape(nodes=nodes, parent=parent, keys=keys, first_tree=first_tree)

    def _add_streams(self, groups: list["_Group"]) -> None:
        """Add the streams. A worker that processes a stream's events owns the stream, or else a reading worker."""
        processing_worker = {s: g.worker for g in reversed(groups) for s in g.leaf_streams}
        reading_worker = {s: g.worker for g in reversed(groups) for s in g.streams()}
        for index, stream in enumerate(self._data.streams):
            owner = processing_worker.get(index, reading_worker.get(index, 0))
            self._phases[-1].owners.append(owner)
            if len(self._phases) > 1:  # The first phase added the streams to the core.
                self.core.set_stream_owner(index, owner)
                continue
            payload = list(payload_of(stream, self._program))
            heartbeats, *due_times = stream_times(index, stream, self._load)
            self.core.add_stream(stream.ts, stream.tag, payload, heartbeats, owner, *due_times)

    def _add_mailbox(self, group: "_Group") -> "_Mailbox":
        """Add the mailbox of a group, with the states of its leaves."""
        mailbox = self.core.add_mailbox(group.worker)
        leaf_state = self._leaf_state(group)
        stride = round_up(leaf_state.dtype.itemsize, UNIT)
        trees, leaves = group.trees()
        storage = aligned_storage(stride * max(1, len(trees)))
        base = storage.ctypes.data
        self.core.place(mailbox, trees, leaves, storage, stride)
        self._leaves.append((trees, storage[: stride * len(trees)].reshape(-1, stride)))
        return _Mailbox(index=mailbox, state=leaf_state, base=base, units=stride // UNIT)

    def _add_crossings(self, shapes: list[Shape]) -> "_Crossings":
        """Add one crossing per `across` and group of keys."""
        tree_of = tree_of_keys(shapes, self.plan.alphabet.keys)
        crossings: _Crossings = {}
        for across in self._program.across:
            for number, members in groups_of(across, self.plan.alphabet.keys):
                max_outputs = across.max_outputs_for(len(members))
                crossing = self.core.add_crossing(
                    tree_of[members], members, across.dtype.itemsize, max_outputs
                )
                crossings[across.name, number] = crossing
        return crossings

    def _add_lanes(self, group: "_Group", mailbox: "_Mailbox", crossings: "_Crossings") -> None:
        """Add a lane for each stream with events of the group's leaves or their ancestors, or across their keys."""
        parts = {
            group_of_keys: part
            for group_of_keys, crossing in crossings.items()
            if (part := self.core.join_crossing(mailbox.index, crossing)) >= 0
        }
        updates = {name for name, _ in parts}
        across = {
            index
            for index, stream in enumerate(self._data.streams)
            for kind in stream.kinds
            if (update := self._program.across_of(kind)) is not None and update.name in updates
        }
        for index in sorted(group.streams() | across):
            self._add_lane(mailbox, group, index, parts)
            self._phases[-1].readers[index].add(group.worker)

    def _leaf_state(self, group: "_Group") -> StateType:
        names = {shape.nodes[leaf].state for shape, leaf in group.leaves}
        if len(names) > 1:
            raise UnsupportedError(
                f"program {self._program.name}: leaves of state types {sorted(names)} share a "
                f"stream on worker {group.worker}; use fewer workers"
            )
        return self._program.state(names.pop())

    def _add_lane(
        self, mailbox: "_Mailbox", group: "_Group", index: int, parts: "_Crossings"
    ) -> None:
        stream = self._data.streams[index]
        base, units = mailbox.base, mailbox.units
        n_kinds = len(self._program.kinds)
        tags = n_kinds * self.plan.alphabet.keys
        slots = np.full(tags, -1, dtype=np.int32)
        order_tree = np.full(tags, -1, dtype=np.int32)
        order_node = np.full(tags, -1, dtype=np.int32)
        position = 0
        for shape, leaf in group.leaves:
            owner = shape.owner()
            above = shape.ancestors(leaf)
            for kind in stream.kinds:
                node = owner.get(ImplTag(kind, index))
                codes = kind + n_kinds * shape.keys.astype(np.int64)
                if node == leaf and ImplTag(kind, index) not in shape.nodes[leaf].ordering:
                    slots[codes] = (
                        np.arange(position, position + len(codes), dtype=np.int32) * units
                    )
                elif node == leaf or node in above:
                    order_tree[codes] = np.arange(
                        shape.first_tree, shape.first_tree + len(codes), dtype=np.int32
                    )
                    order_node[codes] = node
            position += len(shape.keys)
        layout = layout_of(self._program, stream)
        across_kernels: list[int] = []
        for kind in stream.kinds:
            across = self._program.across_of(kind)
            if across is None:
                continue
            for (name, number), part in parts.items():
                if name != across.name or number >= self.plan.alphabet.keys:
                    continue  # No tag has this number.
                order_tree[kind + n_kinds * number] = part
                order_node[kind + n_kinds * number] = _core.ACROSS - len(across_kernels)
            across_kernels.append(self._kernels.across(across, layout))
        stream_tags = _tags_of(stream, n_kinds, self.plan.alphabet.keys)
        runs = bool((slots[stream_tags] >= 0).any())
        orders = bool((order_tree[stream_tags] >= 0).any())
        dense = position == 1 and bool((slots[stream_tags] >= 0).all())
        if stream.tag is None:
            kind = stream.kinds[0]
            order_tree, order_node = order_tree[kind : kind + 1], order_node[kind : kind + 1]
            base += int(max(0, slots[kind])) * UNIT
            dense = True
        update = [
            self._kernels.run(state, layout, keyed=False) if orders else 0
            for state in self._program.states
        ]
        self.core.add_lane(
            mailbox.index,
            index,
            self._kernels.run(mailbox.state, layout, keyed=not dense) if runs else 0,
            None if dense or not runs else slots,
            base,
            np.ascontiguousarray(order_tree) if orders else None,
            np.ascontiguousarray(order_node) if orders else None,
            update,
            across_kernels,
        )


_Crossings = dict[tuple[str, int], int]
"""Crossings, or a mailbox's parts of them, by name of the `across` and group number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mailbox:
    """A mailbox of the core: its index, and the type, first address and distance (in units) of its leaves' states."""

    index: int
    state: StateType
    base: int
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Leaves of one worker that share streams, and therefore one mailbox."""

    worker: int
    leaves: tuple[tuple[Shape, int], ...]
    leaf_streams: frozenset[int]

    def streams(self) -> set[int]:
        """Return the streams with events for the leaves or for their ancestors."""
        streams = set()
        for shape, leaf in self.leaves:
            for index in {leaf, *shape.ancestors(leaf)}:
                streams |= {tag.stream for tag in shape.nodes[index].tags}
        return streams

    def trees(self) -> tuple[Int32Array, Int32Array]:
        """Return all trees (one per key) and the leaf of each, in the order in which the mailbox stores the states."""
        trees = [
            np.arange(shape.first_tree, shape.first_tree + len(shape.keys), dtype=np.int32)
            for shape, _ in self.leaves
        ]
        leaves = [np.full(len(shape.keys), leaf, dtype=np.int32) for shape, leaf in self.leaves]
        return np.concatenate(trees), np.concatenate(leaves)


def groups_of(across: Across, keys: int) -> Iterator[tuple[int, Int32Array]]:
    """Yield the number and the keys of each group."""
    groups = across.groups(keys)
    order = np.argsort(groups, kind="stable").astype(np.int32)
    numbers, first = np.unique(groups[order], return_index=True)
    yield from zip(numbers.tolist(), np.split(order, first[1:]), strict=True)


def record_widths(data: Input, program: DGSProgram) -> npt.NDArray[np.int64]:
    """Return the number of bytes that the program reads of an event, by stream."""
    return np.array(
        [
            sum(
                column.itemsize
                for column in (stream.ts, stream.tag, *payload_of(stream, program))
                if column is not None
            )
            for stream in data.streams
        ]
    )


def payload_of(stream: Stream, program: DGSProgram) -> Iterator[npt.NDArray[np.generic] | None]:
    """Yield a stream's column for each field of a program's events; None if the stream lacks the field."""
    for name in program.event.names or ():
        column, declared_dtype = stream.payload.get(name), program.event[name]
        if isinstance(column, ListColumn):
            raise UnsupportedError(
                f"stream {stream.name}: column {name} holds lists, which DGS programs cannot read"
            )
        if column is not None and column.dtype != declared_dtype:
            raise UnsupportedError(
                f"stream {stream.name}: column {name} is {column.dtype}, but program "
                f"{program.name} declares {declared_dtype}"
            )
        yield column


def _groups(shapes: list[Shape], worker: int) -> Iterator[_Group]:
    """Yield a worker's leaves in groups that share streams; a group has at most one leaf of a shape."""
    parts: list[tuple[set[int], list[tuple[Shape, int]]]] = []
    for shape in shapes:
        for leaf, node in enumerate(shape.nodes):
            if node.children or node.worker != worker:
                continue
            streams = {tag.stream for tag in node.tags}
            for common, members in parts:
                if common & streams and all(member is not shape for member, _ in members):
                    common |= streams
                    members.append((shape, leaf))
                    break
            else:
                parts.append((streams, [(shape, leaf)]))
    for streams, members in parts:
        yield _Group(worker=worker, leaves=tuple(members), leaf_streams=frozenset(streams))


def _tags_of(stream: Stream, n_kinds: int, keys: int) -> npt.NDArray[np.int64]:
    """Return the tags that a stream's events may have."""
    if stream.tag is None:
        return np.array([stream.kinds[0]], dtype=np.int64)
    every_key = np.arange(keys, dtype=np.int64) * n_kinds
    return np.concatenate([every_key + kind for kind in stream.kinds])
