"""Reads and applies the regression trees: six columns of whole numbers in `tree.csv`.

There is one tree for each type of device with enough examples, and one tree for all other types. The trees
were trained once (`train`) and are part of the workload, not of a dataset. A run therefore needs no
library for training, all inputs cost the same work, and answers do not depend on the library's
version. Whole numbers make all engines agree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

PATH = Path(__file__).with_name("tree.csv")
NAMES = ("device", "feature", "threshold", "left", "right", "next_10_min_j")
TIME, LOAD, MINUTE, LEAF = 0, 1, 2, -1
"""Features: second of the day, load in mW, energy of the last minute in mJ; `LEAF` marks leaves."""

DEEPEST = 12
"""Largest number of comparisons from a root to a leaf."""
OTHERS = -1
"""The device of the tree for types without their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A row for each node of all trees; a tree's root comes first, and the tree of `OTHERS` precedes other trees.

    Attributes:
        device: the type of device of the node's tree.
        feature: the compared feature, `TIME`, `LOAD` or `MINUTE`; `LEAF` for leaves.
        threshold: values up to this go to the left.
        left, right: the next nodes.
        next_10_min_j: mean consumption of the node's training examples in joules; inner nodes have
            it as well, so the tree can be truncated at any depth.
    """

    device: Ints
    feature: Ints
    threshold: Ints
    left: Ints
    right: Ints
    next_10_min_j: Ints

    def roots(self) -> Ints:
        """Return the root for each type of device, up to the last type with its own tree."""
        devices, first = np.unique(self.device, return_index=True)
        has_own_tree = devices != OTHERS
        roots = np.zeros(devices.max() + 1, np.int64)
        roots[devices[has_own_tree]] = first[has_own_tree]
        return roots


@cache
def read_tree(path: Path = PATH) -> Tree:
    """Return the trees of a file."""
    table = np.loadtxt(path, np.int64, delimiter=",", skiprows=1, ndmin=2)
    # Numba caches compiled functions only with contiguous arrays.
    columns = [np.ascontiguousarray(column) for column in table.T]
    for column in columns:
        column.flags.writeable = False
    return Tree(**dict(zip(NAMES, columns, strict=True)))


def write_tree(tree: Tree, path: Path) -> None:
    """Write trees to a file."""
    columns = np.stack([getattr(tree, name) for name in NAMES], axis=1)
    np.savetxt(path, columns, "%d", delimiter=",", header=",".join(NAMES), comments="")


def predictor(tree: Tree, depth: int) -> Callable[[Any, Any, Any, Any], Any]:
    """Return a compilable function that predicts for a type of device, with at most `depth` comparisons."""
    roots = tree.roots()
    feature, threshold = tree.feature, tree.threshold
    left, right, next_10_min_j = tree.left, tree.right, tree.next_10_min_j

    def predict(device: Any, time_s: Any, load_mw: Any, minute_mj: Any) -> Any:
        node = roots[device] if 0 <= device < len(roots) else 0
        for _ in range(depth):
            column = feature[node]
            if column < 0:
                break
            value = time_s
            if column == LOAD:
                value = load_mw
            elif column == MINUTE:
                value = minute_mj
            node = left[node] if value <= threshold[node] else right[node]
        return next_10_min_j[node]

    return predict
