"""What oracles share: the sessions of users, by sorting all clicks."""

from dataclasses import dataclass

import numpy as np

from streamlab.workloads.inputs.retail.scale import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """The clicks of sessions that ended, by session, then in their order.

    A session ends with the first click of its user that comes more than the gap after the one
    before. The last session of a user has no end.

    Attributes:
        row: the click's place in the input.
        session: which session it belongs to; numbers are any, the same for one session.
        closed_by: place in the input of the click that ended it.
    """

    row: Ints
    session: Ints
    closed_by: Ints


def closed_sessions(user: Ints, ts: Ints, gap_ms: int) -> Sessions:
    """Return the sessions of clicks that are in order of time."""
    row = np.argsort(user, kind="stable").astype(np.int64)
    user, ts = user[row], ts[row]
    begins = np.ones(len(row), dtype=np.bool_)
    begins[1:] = (user[1:] != user[:-1]) | (ts[1:] - ts[:-1] > gap_ms)
    session = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    closed_by = np.full(len(first), -1, dtype=np.int64)
    again = np.flatnonzero(user[first[1:]] == user[first[:-1]])
    closed_by[again] = row[first[1:]][again]
    ended = closed_by[session] >= 0
    return Sessions(row=row[ended], session=session[ended], closed_by=closed_by[session][ended])
