"""Declares limits on an input, beyond which a number of the workload does not fit its field.

Compiled integers wrap silently and Python's grow, so an answer beyond a limit depends on the engine.
A workload declares the sums that it computes; `streamlab.workloads.datasets.limits` rejects an input
beyond a limit before any measurement.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
Read = Callable[[Any], IntArray]
"""Maps a `streamlab.workloads.datasets.total_order.Sequence` to an integer for each event."""

INT32 = (-(2**31), 2**31 - 1)
INT64 = (-(2**63), 2**63 - 1)

KEY = "key"
"""Stands for an event's key in place of a field name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Describes a range for the values of a field, or for sums of them.

    The positive and the negative terms of a sum are added separately. If both sums are in range, so is
    every partial sum, in any order and grouping of additions.

    Attributes:
        field: The integer payload field whose values count; None if every event counts as 1.
        quantity: The quantity that must be in range, in words.
        remedy: The user's remedy, in words.
        lowest, highest: The range.
        reads: Further payload fields that `groups` and `terms` read.
        groups: Returns the number of each event's sum; None if each value is a sum.
        terms: Returns the term of each event; None means the value of its field.
    """

    field: str | None
    quantity: str
    remedy: str
    lowest: int = INT64[0]
    highest: int = INT64[1]
    reads: tuple[str, ...] = ()
    groups: Read | None = None
    terms: Read | None = None


def count_limit(events: str, *, per: str) -> Limit:
    """Return the limit on the events that share a value of field `per` (or `KEY`): their count must fit 32 bits.

    `events` names the events in messages.
    """
    return Limit(
        field=None,
        quantity=f"the number of {events}",
        remedy="take a shorter part of the input",
        highest=INT32[1],
        reads=() if per == KEY else (per,),
        groups=group_by_field(per),
    )


def group_by_field(name: str) -> Read:
    """Return a function that groups events by the value of a field, or by `KEY`."""

    def groups(events: Any) -> IntArray:
        column = events.key if name == KEY else events.payload[name]
        return np.asarray(column, dtype=np.int64)

    return groups


def group_up_to(kind: int) -> Read:
    """Return a function that groups events up to and including each event of a kind."""

    def groups(events: Any) -> IntArray:
        ends = events.kind == kind
        return np.asarray(np.cumsum(ends) - ends, dtype=np.int64)

    return groups
