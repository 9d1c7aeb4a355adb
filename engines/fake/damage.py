"""Damages one record of an answer, in the ways in which engines can be wrong."""

from collections.abc import Callable

import numpy as np

from streamlab.engines.errors import EngineError
from streamlab.workloads.model import Columns, OutputType, Tag

Damage = Callable[[Columns, OutputType], Columns]

MAX_SEARCHED_RECORDS = 100_000
"""Number of leading records in which `reorder` looks for a pair."""
MAX_DISTANCE = 50
"""The two records are fewer than this many records apart."""


def lose(answer: Columns, output: OutputType) -> Columns:
    """Leave out the middle record."""
    middle = _middle(answer)
    return {name: np.delete(column, middle) for name, column in answer.items()}


def duplicate(answer: Columns, output: OutputType) -> Columns:
    """Duplicate the middle record."""
    middle = _middle(answer)
    return {name: np.insert(column, middle, column[middle]) for name, column in answer.items()}


def corrupt(answer: Columns, output: OutputType) -> Columns:
    """Add 1 to the last field of the middle record."""
    middle = _middle(answer)
    damaged = {name: column.copy() for name, column in answer.items()}
    last = damaged[list(damaged)[-1]]
    last[middle] = last[middle] + np.ones((), dtype=last.dtype)
    return damaged


def reorder(answer: Columns, output: OutputType) -> Columns:
    """Swap two records whose order matters: they depend on each other, or must be sorted by time."""
    count = len(answer["ts"])

    def tag(row: int) -> Tag:
        fields = (output.kind_field, output.key_field)
        return Tag(*(0 if field is None else int(answer[field][row]) for field in fields))

    for second in range(1, min(count, MAX_SEARCHED_RECORDS)):
        for first in range(second - 1, max(-1, second - MAX_DISTANCE), -1):
            differ = (bool(column[first] != column[second]) for column in answer.values())
            if (output.depends(tag(first), tag(second)) and any(differ)) or (
                output.sorted and answer["ts"][first] != answer["ts"][second]
            ):
                order = np.arange(count)
                order[[first, second]] = second, first
                return {name: column[order] for name, column in answer.items()}
    raise EngineError("fake: the answer has no two records whose order matters; use more events")


DAMAGES: dict[str, Damage] = {
    "lose": lose,
    "duplicate": duplicate,
    "reorder": reorder,
    "corrupt": corrupt,
}


def _middle(answer: Columns) -> int:
    count = len(answer["ts"])
    if count == 0:
        raise EngineError("fake: an empty answer has no record to damage; use more events")
    return count // 2
