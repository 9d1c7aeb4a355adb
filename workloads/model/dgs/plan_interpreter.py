"""Runs a plan in plain Python, event by event, in any order that the dependence relation allows.

A model of parallel execution, not an engine: it shows that fork, join and update give the sequential
answer under a plan for any interleaving (DGS paper, Theorem 2.4).
"""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from streamlab.workloads.model.dgs.cross_key_events import StateList
from streamlab.workloads.model.dgs.plan import ImplTag, Plan, PlanNode
from streamlab.workloads.model.dgs.program import DGSProgram, ForkJoin
from streamlab.workloads.model.streams.records import Emitter, initial_state, state_records
from streamlab.workloads.model.streams.stream import Columns, Input
from streamlab.workloads.model.streams.tag import Tag
from streamlab.workloads.model.streams.total_order import merge


def run_plan(plan: Plan, data: Input, rng: random.Random) -> Columns:
    """Return the outputs of a plan on an input, in the order of a random interleaving.

    The time is quadratic in the number of events; use inputs of up to some thousand events. `rng`
    chooses the next event among those whose dependent predecessors are done.
    """
    program = plan.program
    out = Emitter(program.output)
    root_of = {key: tree.root for tree in plan.trees for key in tree.keys.tolist()}
    forest = _Forest(program, root_of)
    merged = merge(data, program)
    events = list(merged.events(program))
    streams = merged.stream[merged.order].tolist()
    tags = [Tag(event.kind, event.key) for event in events]
    waiting = {
        i: {j for j in range(i) if program.dependent(tags[j], tags[i])} for i in range(len(events))
    }
    while waiting:
        ready = [index for index, before in waiting.items() if not before]
        index = rng.choice(ready)
        del waiting[index]
        for before in waiting.values():
            before.discard(index)
        forest.process(events[index], streams[index], out)
    return out.columns(program.output)


class _Forest:
    """Runs the trees of a plan and the events across keys above them."""

    def __init__(self, program: DGSProgram, root_of: Mapping[int, PlanNode]) -> None:
        self._program = program
        self._trees = {key: _Instance(program, root) for key, root in sorted(root_of.items())}
        self._groups: dict[tuple[str, int], Any] = {}

    def process(self, event: Any, stream: int, out: Emitter) -> None:
        """Process an event in its tree, or above the trees."""
        across = self._program.across_of(event.kind)
        if across is None:
            self._trees[event.key].process(event, ImplTag(event.kind, stream), out)
            return
        place = across.name, event.key
        if place not in self._groups:
            self._groups[place] = state_records(self._program)[across.name].zeroed()
        keys = [key for key in self._trees if across.group_of(key) == event.key]
        states = [self._trees[key].join_all() for key in keys]
        across.update(self._groups[place], StateList(keys, states), event, out)
        for key, state in zip(keys, states, strict=True):
            self._trees[key].fork_all(state)


class _Instance:
    """Runs one tree of a plan for one key; between events its leaves hold the states."""

    def __init__(self, program: DGSProgram, root: PlanNode) -> None:
        self._program = program
        self._records = state_records(program)
        self._states: dict[int, Any] = {}
        self._path: dict[ImplTag, PlanNode] = {
            tag: node for node in root.walk() for tag in node.tags
        }
        self._root = root
        self.fork_all(initial_state(program))

    def process(self, event: Any, tag: ImplTag, out: Emitter) -> None:
        """Join up to the tag's node, update, and fork down again."""
        node = self._path[tag]
        state = self._gather(node)
        self._program.state(node.state).update(state, event, out)
        self._scatter(node, state)

    def join_all(self) -> Any:
        """Join the states of all leaves."""
        return self._gather(self._root)

    def fork_all(self, state: Any) -> None:
        """Fork a joined state down to all leaves."""
        self._scatter(self._root, state)

    def _gather(self, node: PlanNode) -> Any:
        if not node.children:
            return self._states[id(node)]
        left, right = node.children
        state = self._records[node.state].zeroed()
        self._pair(node).join(self._gather(left), self._gather(right), state)
        return state

    def _scatter(self, node: PlanNode, state: Any) -> None:
        if not node.children:
            self._states[id(node)] = state
            return
        left, right = node.children
        first, second = self._records[left.state].zeroed(), self._records[right.state].zeroed()
        pred1, pred2 = self._predicate(left), self._predicate(right)
        self._pair(node).fork(state, pred1, pred2, first, second)
        self._scatter(left, first)
        self._scatter(right, second)

    def _predicate(self, node: PlanNode) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.isin(np.arange(len(self._program.kinds)), sorted(node.kinds()))

    def _pair(self, node: PlanNode) -> ForkJoin:
        names = (node.state, *(child.state for child in node.children))
        return next(
            pair
            for pair in self._program.parallel
            if (pair.parent, pair.first, pair.second) == names
        )
