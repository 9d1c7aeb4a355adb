"""Limits on an input: beyond them, a number of the workload does not fit its field.

Compiled integers wrap silently and Python's grow, so an answer beyond a limit depends on the
engine. A workload declares what it adds up; `streamlab.workloads.datasets.limits` refuses an input beyond a
limit before anything is measured.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
Read = Callable[[Any], IntArray]
"""From a `streamlab.workloads.datasets.total_order.Sequence` to an integer for each event."""

INT32 = (-(2**31), 2**31 - 1)
INT64 = (-(2**63), 2**63 - 1)

KEY = "key"
"""In place of a field: the key of an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A range for the values of a field, or for sums of them.

    Of a sum, the positive and the negative terms are added apart: where both sums are in range, so
    is every partial sum, whatever the order and the grouping in which an engine adds.

    Attributes:
        field: the integer payload field whose values count; None: every event counts as 1.
        what: the quantity that has to be in range, in words.
        remedy: the user's remedy, in words.
        lowest, highest: the range.
        reads: further payload fields that `groups` and `terms` read.
        groups: the number of the sum that each event belongs to; None: each value is a sum.
        terms: what each event adds; None: the value of its field.
    """

    field: str | None
    what: str
    remedy: str
    lowest: int = INT64[0]
    highest: int = INT64[1]
    reads: tuple[str, ...] = ()
    groups: Read | None = None
    terms: Read | None = None


def count_limit(what: str, *, by: str) -> Limit:
    """Return the limit on how many events have one value of a field, for counts of 32 bits.

    Args:
        what: the counted events, in words.
        by: the field, or `KEY`.
    """
    return Limit(
        field=None,
        what=f"the number of {what}",
        remedy="take a shorter part of the input",
        highest=INT32[1],
        reads=() if by == KEY else (by,),
        groups=group_by_field(by),
    )


def group_by_field(name: str) -> Read:
    """Return groups by the value of a field, or by `KEY`."""

    def groups(events: Any) -> IntArray:
        column = events.key if name == KEY else events.payload[name]
        return np.asarray(column, dtype=np.int64)

    return groups


def group_up_to(kind: int) -> Read:
    """Return groups that end with each event of a kind, which belongs to the group that it ends."""

    def groups(events: Any) -> IntArray:
        ends = events.kind == kind
        return np.asarray(np.cumsum(ends) - ends, dtype=np.int64)

    return groups
