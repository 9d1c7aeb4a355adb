"""Builds the templates of a plan's trees on a core run: their nodes in preorder, with fork and join kernels."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.engines.errors import EngineError, UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.dgs.kernels import Kernels
from streamlab.workloads.model import DGSProgram, ForkJoin, ProgramError
from streamlab.workloads.model.dgs.plan import ImplTag, PlanNode
from streamlab.workloads.model.errors import place_of
from streamlab.workloads.model.streams.records import initial_state

LINE, UNIT = _core.CACHE_LINE, _core.STATE_UNIT
"""Size of a cache line, and unit of the size of a state, in bytes."""

Int32Array = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A tree of a plan.

    Attributes:
        nodes: all nodes, in preorder.
        parent: index of each node's parent; -1 for the root.
        keys: the keys of the tree.
        first_tree: number of the first of the core's trees of this shape; the core has one tree per key.
    """

    nodes: tuple[PlanNode, ...]
    parent: tuple[int, ...]
    keys: Int32Array
    first_tree: int

    def owner(self) -> dict[ImplTag, int]:
        """Return the index of the node that owns each tag."""
        return {tag: index for index, node in enumerate(self.nodes) for tag in node.tags}

    def ancestors(self, index: int) -> set[int]:
        """Return the indices of the nodes above a node."""
        above = set()
        while self.parent[index] >= 0:
            index = self.parent[index]
            above.add(index)
        return above

    def trees(self) -> Int32Array:
        """Return the core's trees, one for each key."""
        return self.first_tree + np.arange(len(self.keys), dtype=np.int32)


class Templates:
    """Adds the state types of a program to a core run, and templates of trees."""

    def __init__(
        self, core: _core.DgsRun | _core.MessageRun, program: DGSProgram, kernels: Kernels
    ) -> None:
        self._core = core
        self._program = program
        self._kernels = kernels
        self._states = {state.name: index for index, state in enumerate(program.states)}
        for state in program.states:
            core.add_state_type(round_up(state.dtype.itemsize, UNIT))

    def add(self, root: PlanNode) -> tuple[int, tuple[PlanNode, ...], tuple[int, ...]]:
        """Add a template; return its index, its nodes, and the parent of each.

        Raises:
            EngineError: a fork or join does not compile.
        """
        nodes = tuple(root.walk())
        node_index = {id(node): index for index, node in enumerate(nodes)}
        parent, first, second = ([-1] * len(nodes) for _ in range(3))
        fork, join = ([0] * len(nodes) for _ in range(2))
        pred1: list[list[int]] = [[] for _ in nodes]
        pred2: list[list[int]] = [[] for _ in nodes]
        for index, node in enumerate(nodes):
            if not node.children:
                continue
            left, right = node.children
            first[index], second[index] = node_index[id(left)], node_index[id(right)]
            parent[first[index]] = parent[second[index]] = index
            pair = self._pair(node)
            fork[index], join[index] = self._kernels.fork(pair), self._kernels.join(pair)
            pred1[index], pred2[index] = self._predicate(left), self._predicate(right)
        types = [self._states[node.state] for node in nodes]
        template = self._core.add_template(parent, first, second, types, fork, join, pred1, pred2)
        return template, nodes, tuple(parent)

    def _pair(self, node: PlanNode) -> ForkJoin:
        states = (node.state, node.children[0].state, node.children[1].state)
        for pair in self._program.parallel:
            if (pair.parent, pair.first, pair.second) == states:
                return pair
        raise UnsupportedError(f"program {self._program.name} has no fork-join over {states}")

    def _predicate(self, node: PlanNode) -> list[int]:
        kinds = node.kinds()
        return [int(kind in kinds) for kind in range(len(self._program.kinds))]


def tree_of_keys(shapes: list[Shape], keys: int) -> Int32Array:
    """Return the core tree of each key."""
    tree_of = np.zeros(keys, dtype=np.int32)
    for shape in shapes:
        tree_of[shape.keys] = shape.trees()
    return tree_of


def initial_state_of(program: DGSProgram) -> bytes:
    """Return the bytes of a program's initial state; `init` runs in plain Python, which detects overflow."""
    first = program.states[0]
    try:
        record = initial_state(program)
        storage = np.zeros(1, dtype=first.dtype)
        for field in first.dtype.names or ():
            storage[field][0] = getattr(record, field)
    except Exception as error:  # A user's function may raise anything.
        reason = str(error) if isinstance(error, ProgramError) else repr(error)
        raise EngineError(
            f"program {program.name}: init raised: {reason}, in {place_of(error)}"
        ) from error
    return storage.tobytes()


def aligned_storage(nbytes: int) -> npt.NDArray[np.uint8]:
    """Return zeroed storage that shares no cache line with other data."""
    raw = np.zeros(nbytes + 2 * LINE, dtype=np.uint8)
    skip = -raw.ctypes.data % LINE
    return raw[skip : skip + round_up(nbytes, LINE)]


def round_up(value: int, step: int) -> int:
    """Return the smallest multiple of `step` that is not below `value`."""
    return -(-value // step) * step
