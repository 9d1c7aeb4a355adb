"""TPCx-BB query 2 as a pipeline: clicks -> SL known -> PS sessions -> SL pairs -> PS counts -> SF ranking.

SL is a stateless operator, PS a partitioned one (a state for each key), SF a stateful one (one state).

- `known` selects the clicks of known users.
- `sessions`, by user, stores the distinct items of the user's session in order. A click more than
  `gap_ms` after the user's previous click ends the session. The operator then forwards the items,
  each with a flag that says whether the session has `item`. Only the first `most_items` distinct items
  of a session count.
- `pairs` pairs `item` with the other items of its sessions.
- `counts`, by the other item, counts sessions since the beginning and forwards every new count.
- `ranking` stores the top pairs and forwards them at the first count of a later hour. The query has
  one list for the whole input. A stream has no end, so the pipeline has the list so far, every hour.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.retail.ranking import PAIR, counting, ranking
from streamlab.workloads.inputs.retail.schema import CLICK
from streamlab.workloads.model import Pipeline, partitioned, stateless

VIEW = np.dtype([("ts", np.int64), ("user", np.int32), ("item", np.int32)])
VIEWED = np.dtype([("ts", np.int64), ("item", np.int32), ("together", np.int8)])


def program(item: int, gap_ms: int, top: int, hour_ms: int, most_items: int) -> Pipeline:
    """Return the pipeline; the arguments are the query parameters of the workload."""

    def sessions(s: Any, t: Any, out: Any) -> None:
        if s.n > 0 and t.ts - s.last > gap_ms:
            together = 0
            for k in range(s.n):
                if s.items[k] == item:
                    together = 1
            for k in range(s.n):
                out.emit(s.items[k], together)
            s.n = 0
        s.last = t.ts
        for k in range(s.n):
            if s.items[k] == t.item:
                return
        if s.n < most_items:
            s.items[s.n] = t.item
            s.n += 1

    def pairs(t: Any, out: Any) -> None:
        if t.together == 1 and t.item != item:
            out.emit(item, t.item)

    session = np.dtype([("last", np.int64), ("n", np.int32), ("items", np.int32, (most_items,))])
    return Pipeline(
        name="items_viewed_together",
        record="click",
        event=CLICK,
        stages=(
            stateless(name="known", output=VIEW, apply=_known),
            partitioned(
                name="sessions",
                output=VIEWED,
                key=_user,
                state=session,
                apply=sessions,
                max_outputs=most_items,
            ),
            stateless(name="pairs", output=PAIR, apply=pairs),
            counting(name="counts"),
            ranking(name="ranking", top=top, more_than=0, every_ms=hour_ms, restart=False),
        ),
    )


def _known(t: Any, out: Any) -> None:
    if t.user != 0:
        out.emit(t.user, t.item)


def _user(t: Any) -> Any:
    return t.user
