"""Finds the sessions of users by sorting all clicks, for oracles."""

from dataclasses import dataclass

import numpy as np

from streamlab.workloads.inputs.retail.scale import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """The clicks of closed sessions, by session, then in input order.

    A user's next click after more than the gap closes a session. The last session of a user stays
    open.

    Attributes:
        row: row of the click in the input.
        session: number of its session, arbitrary but unique.
        closed_by: row of the click that closed the session.
    """

    row: Ints
    session: Ints
    closed_by: Ints


def closed_sessions(user: Ints, ts: Ints, gap_ms: int) -> Sessions:
    """Return the closed sessions of clicks that are in time order."""
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
