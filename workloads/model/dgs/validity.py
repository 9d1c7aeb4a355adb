"""Checks that synchronization plans are valid (DGS paper, Definition 3.2), before they run."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from streamlab.workloads.model.dgs.dependence import DependenceGraph
from streamlab.workloads.model.dgs.plan import ImplTag, Plan, PlanNode, Tree
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.model.errors import PlanError


def check_plan(plan: Plan, streams: Sequence[StreamProfile] | None = None) -> None:
    """Check that a plan is valid for its program, and that every tag of `streams` (if set) has an owner.

    Raises:
        PlanError: The plan breaks a rule; the message names the rule and the tags or the node.
    """
    checker = _Checker(plan)
    checker.check_keys()
    for index, tree in enumerate(plan.trees):
        checker.check_tree(index, tree)
    if streams is not None:
        checker.check_owners(streams)


def describe(plan: Plan, tag: ImplTag) -> str:
    """Return an implementation tag in words, e.g. `view (stream view-0)`."""
    return f"{plan.program.kinds[tag.kind]} (stream {plan.streams[tag.stream]})"


class _Checker:
    """Checks a plan; each method raises PlanError with the rule that the plan breaks."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._where = f"plan for program {plan.program.name}"
        self._graph = DependenceGraph.from_rates(plan.program, {})
        self._key_kinds = plan.program.key_kinds()

    def _error(self, rule: str, text: str) -> PlanError:
        return PlanError(f"{self._where} breaks {rule}: {text}")

    def check_keys(self) -> None:
        """Check that every key is in exactly one tree."""
        keys = self._plan.alphabet.keys
        owners = np.zeros(keys, dtype=np.int64)
        for index, tree in enumerate(self._plan.trees):
            outside = tree.keys[(tree.keys < 0) | (tree.keys >= keys)]
            if len(outside):
                raise self._error(
                    "the key rule", f"tree {index} has key {outside[0]}; keys are 0 to {keys - 1}"
                )
            np.add.at(owners, tree.keys, 1)
        wrong = np.flatnonzero(owners != 1)
        if len(wrong):
            raise self._error(
                "the key rule",
                f"key {wrong[0]} is in {owners[wrong[0]]} trees; every key must be in exactly one",
            )

    def check_tree(self, index: int, tree: Tree) -> None:
        """Check conditions V1 (every node) and V2 (every pair of nodes) of Definition 3.2."""
        initial = self._plan.program.states[0].name
        if tree.root.state != initial:
            raise self._error(
                "V1",
                f"the root of tree {index} has state type {tree.root.state}, "
                f"but the initial state is of type {initial}",
            )
        for node in tree.root.walk():
            self._check_tags_known(node)
            self._check_types(node)
            self._check_worker(node)
            if node.children:
                self._check_siblings(node)
                self._check_owned_once(node)
            else:
                self._check_leaf(node)

    def check_owners(self, streams: Sequence[StreamProfile]) -> None:
        """Check that every tag that occurs in a stream has an owner in the tree of its key."""
        names = tuple(stream.name for stream in streams)
        if names != self._plan.streams:
            raise self._error(
                "the owner rule", f"it is for streams {self._plan.streams}, not {names}"
            )
        self._check_groups(streams)
        for index, tree in enumerate(self._plan.trees):
            owned = {tag for node in tree.root.walk() for tag in node.tags}
            for stream_index, stream in enumerate(streams):
                occurs = stream.counts[tree.keys].any(axis=0)
                for kind in sorted(self._key_kinds.intersection(np.flatnonzero(occurs).tolist())):
                    tag = ImplTag(kind, stream_index)
                    if tag not in owned:
                        raise self._error(
                            "the owner rule",
                            f"{describe(self._plan, tag)} occurs with keys of tree {index}, "
                            "but no node of that tree owns it; add it to one",
                        )

    def _check_groups(self, streams: Sequence[StreamProfile]) -> None:
        """Check that the group of every event across keys has keys."""
        keys = self._plan.alphabet.keys
        for across in self._plan.program.across:
            empty = np.ones(keys, dtype=np.bool_)
            groups = across.groups(keys)
            empty[groups[groups < keys]] = False
            for stream, kind in product(streams, self._plan.program.kind_indices(across.kinds)):
                wrong = np.flatnonzero(empty & (stream.counts[:, kind] > 0))
                if len(wrong):
                    text = f"stream {stream.name}: {across.no_members(int(wrong[0]), keys)}"
                    raise self._error("the group rule", text)

    def _check_tags_known(self, node: PlanNode) -> None:
        kinds, streams = len(self._plan.program.kinds), len(self._plan.streams)
        for tag in node.tags | node.ordering:
            if not (0 <= tag.kind < kinds and 0 <= tag.stream < streams):
                raise self._error(
                    "V1", f"{tag} does not exist; there are {kinds} kinds and {streams} streams"
                )
        if not node.ordering <= node.tags:
            extra = min(node.ordering - node.tags)
            raise self._error(
                "V1",
                f"{self._name(node)} orders {describe(self._plan, extra)}, which it does not own",
            )

    def _check_types(self, node: PlanNode) -> None:
        program = self._plan.program
        # The type exists: the root has the initial type, and the check of a parent's fork-join
        # covers its children.
        excess = sorted(node.kinds() - program.kinds_of(program.state(node.state)))
        if excess:
            raise self._error(
                "V1",
                f"{self._name(node)} or a node below it processes {program.kinds[excess[0]]}, "
                f"which state type {node.state} cannot process",
            )
        if not node.children:
            return
        if len(node.children) != 2:
            raise self._error(
                "V1", f"{self._name(node)} has {len(node.children)} children; it needs none or two"
            )
        names = (node.state, *(child.state for child in node.children))
        if names not in {(pair.parent, pair.first, pair.second) for pair in program.parallel}:
            raise self._error(
                "V1",
                f"{self._name(node)} needs a fork-join from {names[0]} to ({names[1]}, "
                f"{names[2]}), which the program does not have",
            )

    def _check_siblings(self, node: PlanNode) -> None:
        first, second = node.children
        for left, right in product(first.walk(), second.walk()):
            for a, b in product(sorted(left.tags), sorted(right.tags)):
                if a == b:
                    raise self._error(
                        "V2",
                        f"{describe(self._plan, a)} is owned by both {self._name(left)} and "
                        f"{self._name(right)}, and neither is above the other",
                    )
                if self._graph.edge(a, b):
                    raise self._error(
                        "V2",
                        f"{describe(self._plan, a)} in {self._name(left)} and "
                        f"{describe(self._plan, b)} in {self._name(right)} depend on each other, "
                        "but neither node is above the other; move one to a common ancestor",
                    )

    def _check_owned_once(self, node: PlanNode) -> None:
        for below in (below for child in node.children for below in child.walk()):
            twice = node.tags & below.tags
            if twice:
                raise self._error(
                    "V2",
                    f"{describe(self._plan, min(twice))} is owned by both {self._name(node)} and "
                    f"{self._name(below)} below it",
                )

    def _check_worker(self, node: PlanNode) -> None:
        if not (-1 if node.children else 0) <= node.worker < self._plan.workers:
            raise self._error(
                "the worker rule",
                f"{self._name(node)} is on worker {node.worker}; "
                f"workers are 0 to {self._plan.workers - 1}",
            )

    def _check_leaf(self, node: PlanNode) -> None:
        for a, b in product(sorted(node.tags), repeat=2):
            dependent = a.stream != b.stream and self._graph.edge(a, b)
            if dependent and not node.ordering & {a, b}:
                raise self._error(
                    "the ordering rule",
                    f"{describe(self._plan, a)} and {describe(self._plan, b)} depend on each other "
                    f"in {self._name(node)}, but its ordering has neither; add one of them",
                )

    def _name(self, node: PlanNode) -> str:
        role = "an inner node" if node.children else f"the leaf on worker {node.worker}"
        tags = ", ".join(describe(self._plan, tag) for tag in sorted(node.tags)[:3])
        return f"{role} with {tags}" if tags else f"{role} without tags"
