"""The regression tree: five columns of whole numbers, trained once (`train`), kept in `tree.csv`.

It is part of the workload and not of a dataset: whoever runs the workload needs nothing to train
with, all inputs are predicted by the same tree, so that they are the same work, and an answer does
not depend on the version of a library that trains. Whole numbers make all engines agree.
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
NAMES = ("feature", "threshold", "left", "right", "next_10_min_j")
TIME, LOAD, MINUTE, LEAF = 0, 1, 2, -1
"""Features: second of the day, load in mW, energy of the last minute in mJ; and that of leaves."""

DEEPEST = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A row for each node, the root first.

    Attributes:
        feature: what is compared: `TIME`, `LOAD`, `MINUTE`, or nothing (`LEAF`).
        threshold: up to it the way is to the left.
        left, right: the next nodes.
        next_10_min_j: the mean of what was consumed, of all that came by in training; inner nodes
            have it too, so that the tree may be cut at any depth.
    """

    feature: Ints
    threshold: Ints
    left: Ints
    right: Ints
    next_10_min_j: Ints


@cache
def read_tree(path: Path = PATH) -> Tree:
    """Return the tree of a file."""
    table = np.loadtxt(path, np.int64, delimiter=",", skiprows=1, ndmin=2)
    # Each in one piece: what is not cannot be part of a compiled function that is kept.
    columns = [np.ascontiguousarray(column) for column in table.T]
    for column in columns:
        column.flags.writeable = False
    return Tree(**dict(zip(NAMES, columns, strict=True)))


def write_tree(tree: Tree, path: Path) -> None:
    """Write a tree to a file."""
    columns = np.stack([getattr(tree, name) for name in NAMES], axis=1)
    np.savetxt(path, columns, "%d", delimiter=",", header=",".join(NAMES), comments="")


def predictor(tree: Tree, depth: int) -> Callable[[Any, Any, Any], Any]:
    """Return what predicts by so many comparisons at most, for programs: it can be compiled."""
    feature, threshold = tree.feature, tree.threshold
    left, right, next_10_min_j = tree.left, tree.right, tree.next_10_min_j

    def predict(time_s: Any, load_mw: Any, minute_mj: Any) -> Any:
        node = 0
        for _ in range(depth):
            which = feature[node]
            if which < 0:
                break
            known = time_s
            if which == LOAD:
                known = load_mw
            elif which == MINUTE:
                known = minute_mj
            node = left[node] if known <= threshold[node] else right[node]
        return next_10_min_j[node]

    return predict
