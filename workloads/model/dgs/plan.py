"""Synchronization plans: forests of binary trees that say which node processes which events.

Source: DGS paper, Definitions 3.1 and 3.2. A node without children is a *leaf*: it processes its
    events
alone, on the worker it is placed on. An inner node processes its events on the joined state of its
children and has no thread of its own. Nodes with the same shape for many keys are stored once: a
`Tree` is a template that stands for one tree per key.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.streams.tag import Alphabet


@dataclass(frozen=True, slots=True, order=True)
class ImplTag:
    """An implementation tag within one key: a kind, as it occurs in one stream."""

    kind: int
    stream: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNode:
    """One node of a tree.

    Attributes:
        state: name of its state type.
        tags: the implementation tags that it is responsible for.
        ordering: leaf only. The tags before whose events the leaf must have finished all earlier
            events of its other streams: a set that touches every dependent pair of its tags from
            different streams. Inner nodes order all their tags.
        children: none (leaf) or two.
        worker: leaf only: index of the worker that runs it.
    """

    state: str
    tags: frozenset[ImplTag]
    ordering: frozenset[ImplTag] = frozenset()
    children: tuple["PlanNode", ...] = ()
    worker: int = -1

    def walk(self) -> Iterator["PlanNode"]:
        """Yield this node and all below it, parents before children, first child first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def kinds(self) -> frozenset[int]:
        """Return the kinds handled in this node or below: the predicate of its wire."""
        return frozenset(tag.kind for node in self.walk() for tag in node.tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """One tree for each of `keys` (ascending int32 array); unkeyed programs have only key 0."""

    root: PlanNode
    keys: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A synchronization plan: every key of the alphabet is in exactly one tree."""

    program: DGSProgram
    alphabet: Alphabet
    streams: tuple[str, ...]
    workers: int
    trees: tuple[Tree, ...]
