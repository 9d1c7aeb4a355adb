"""Defines synchronization plans: forests of binary trees that assign tags to nodes.

Source: DGS paper, Definitions 3.1 and 3.2. A node without children is a *leaf*: its worker processes
its events without synchronization. An inner node processes its events on the joined state of its
children; it needs no thread. Keys with the same shape share one `Tree`, which represents one tree for
each of its keys.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.streams.tag import Alphabet


@dataclass(frozen=True, slots=True, order=True)
class ImplTag:
    """Identifies an implementation tag within one key: a kind in one stream."""

    kind: int
    stream: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNode:
    """Describes one node of a tree.

    Attributes:
        state: Name of its state type.
        tags: The implementation tags that it owns.
        ordering: Leaf only. Before an event of these tags the leaf must finish all earlier events of its
            other streams. The set covers every dependent pair of its tags from different streams. Inner
            nodes order all their tags.
        children: None (leaf) or two.
        worker: Index of the worker that runs it; -1 for an inner node that the engine places.
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
        """Return the kinds that this node and those below process: the predicate of its wire."""
        return frozenset(tag.kind for node in self.walk() for tag in node.tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Represents one tree for each of `keys` (ascending int32 array); unkeyed programs have only key 0."""

    root: PlanNode
    keys: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Holds a synchronization plan; every key of the alphabet is in exactly one tree.

    Attributes:
        streams: Names of the streams; `ImplTag.stream` is an index into them.
        workers: Number of workers; some may have no leaf.
    """

    program: DGSProgram
    alphabet: Alphabet
    streams: tuple[str, ...]
    workers: int
    trees: tuple[Tree, ...]
