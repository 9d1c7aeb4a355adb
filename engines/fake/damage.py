"""Damages one record of an answer, in the ways in which engines can be wrong."""

from collections.abc import Callable

import numpy as np

from streamlab.engines.errors import EngineError
from streamlab.workloads.model import Columns, OutputType, Tag

Damage = Callable[[Columns, OutputType], Columns]

# How many records are searched for two dependent ones, which are near each other.
SEARCH = 100_000


def lose(answer: Columns, output: OutputType) -> Columns:
    """Leave out the middle record."""
    return _take(answer, np.delete(_indices(answer), _middle(answer)))


def duplicate(answer: Columns, output: OutputType) -> Columns:
    """Duplicate the middle record."""
    middle = _middle(answer)
    return _take(answer, np.insert(_indices(answer), middle, middle))


def corrupt(answer: Columns, output: OutputType) -> Columns:
    """Add 1 to the last field of the middle record."""
    middle = _middle(answer)
    damaged = {name: column.copy() for name, column in answer.items()}
    last = damaged[list(damaged)[-1]]
    last[middle] = last[middle] + np.ones((), dtype=last.dtype)
    return damaged


def reorder(answer: Columns, output: OutputType) -> Columns:
    """Swap two records whose order matters: they depend on each other, or must be sorted by time.

    Raises:
        EngineError: the answer has no such records.
    """
    count = len(_indices(answer))
    kinds = _tags(answer, output.kind_field)
    keys = _tags(answer, output.key_field)
    first = 0
    for second in range(1, min(count, SEARCH)):
        for first in range(second - 1, max(-1, second - 50), -1):
            a = Tag(int(kinds[first]), int(keys[first]))
            b = Tag(int(kinds[second]), int(keys[second]))
            later = bool(answer["ts"][first] != answer["ts"][second])
            if (output.depends(a, b) and _differ(answer, first, second)) or (
                output.sorted and later
            ):
                order = _indices(answer)
                order[[first, second]] = second, first
                return _take(answer, order)
    raise EngineError("fake: no two records of this answer depend on their order; use more events")


DAMAGES: dict[str, Damage] = {
    "lose": lose,
    "duplicate": duplicate,
    "reorder": reorder,
    "corrupt": corrupt,
}


def _indices(answer: Columns) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.arange(len(answer["ts"]), dtype=np.int64)


def _middle(answer: Columns) -> int:
    count = len(answer["ts"])
    if count == 0:
        raise EngineError("fake: an empty answer has no record to damage; use more events")
    return count // 2


def _take(answer: Columns, order: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Columns:
    return {name: column[order] for name, column in answer.items()}


def _tags(answer: Columns, field: str | None) -> "np.ndarray[tuple[int], np.dtype[np.generic]]":
    if field is None:
        return np.zeros(len(answer["ts"]), dtype=np.int32)
    column: np.ndarray[tuple[int], np.dtype[np.generic]] = answer[field]
    return column


def _differ(answer: Columns, first: int, second: int) -> bool:
    return any(bool(column[first] != column[second]) for column in answer.values())
