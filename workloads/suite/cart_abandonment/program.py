"""TPCx-BB query 4 as a pipeline: clicks -> SL unsold -> PS sessions -> SL abandoned -> SF average.

SL is a stateless operator, PS a partitioned one (a state for each key), SF a stateful one (one state).

- `unsold` selects clicks of known users without a sale.
- `sessions`, by user, counts the pages of the user's session and stores the numbers of the last
  pages of types `order` and `dynamic` (from 1; 0 means no such page). A click more than
  `gap_ms` after the user's previous click ends the session, which is then forwarded.
- `abandoned` selects sessions whose last dynamic page came after the last order page, if any.
- `average` forwards the numbers of abandoned sessions and of their pages since the beginning, after
  every abandoned session.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.retail.schema import CLICK, DYNAMIC, ORDER
from streamlab.workloads.model import Pipeline, partitioned, stateful, stateless

PAGE = np.dtype([("ts", np.int64), ("user", np.int32), ("page", np.int8)])
SESSION = np.dtype(
    [("ts", np.int64), ("pages", np.int32), ("order", np.int32), ("dynamic", np.int32)]
)
PAGES = np.dtype([("ts", np.int64), ("pages", np.int32)])
OUTPUT = np.dtype(
    [("ts", np.int64), ("sessions", np.int64), ("pages", np.int64), ("average", np.float64)]
)
_OPEN = np.dtype(
    [("last", np.int64), ("pages", np.int32), ("order", np.int32), ("dynamic", np.int32)]
)
_SUM = np.dtype([("sessions", np.int64), ("pages", np.int64)])


def program(gap_ms: int) -> Pipeline:
    """Return the pipeline for a gap between sessions."""

    def sessions(s: Any, t: Any, out: Any) -> None:
        if s.pages > 0 and t.ts - s.last > gap_ms:
            out.emit(s.pages, s.order, s.dynamic)
            s.pages = 0
            s.order = 0
            s.dynamic = 0
        s.last = t.ts
        s.pages += 1
        if t.page == ORDER:
            s.order = s.pages
        elif t.page == DYNAMIC:
            s.dynamic = s.pages

    return Pipeline(
        name="cart_abandonment",
        record="click",
        event=CLICK,
        stages=(
            stateless(name="unsold", output=PAGE, apply=_unsold),
            partitioned(name="sessions", output=SESSION, key=_user, state=_OPEN, apply=sessions),
            stateless(name="abandoned", output=PAGES, apply=_abandoned),
            stateful(name="average", output=OUTPUT, state=_SUM, apply=_average),
        ),
    )


def _unsold(t: Any, out: Any) -> None:
    if t.user != 0 and t.sale == 0:
        out.emit(t.user, t.page)


def _user(t: Any) -> Any:
    return t.user


def _abandoned(t: Any, out: Any) -> None:
    if t.dynamic > t.order:
        out.emit(t.pages)


def _average(s: Any, t: Any, out: Any) -> None:
    s.sessions += 1
    s.pages += t.pages
    out.emit(s.sessions, s.pages, s.pages / s.sessions)
