"""TPCx-BB query 3 as a pipeline: clicks -> SL relevant -> PS last views -> PS counts -> SF ranking.

SL is a stateless operator, PS a partitioned one (a state for each key), SF a stateful one (one state).

- `relevant` selects, for known users, views of items in some categories (clicks without a sale) and
  purchases of the given item.
- `last views`, by user, stores the last `views` views. A purchase forwards the views that are at most
  `within_ms` old, oldest first. The views stay stored, so the next purchase may forward them again.
- `counts`, by the viewed item, counts since the beginning and forwards every new count.
- `ranking` stores the top pairs and forwards them at the first count of a later hour, as in query
  2. The paper's table ends with the counts, where each partition could list only its own pairs. A
  common list needs one operator that sees all counts.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.retail.parameters import Ids
from streamlab.workloads.inputs.retail.ranking import PAIR, counting, ranking
from streamlab.workloads.inputs.retail.schema import CLICK
from streamlab.workloads.model import Pipeline, partitioned, stateless

STEP = np.dtype([("ts", np.int64), ("user", np.int32), ("item", np.int32), ("bought", np.int8)])


def program(
    item: int, categories: Ids, views: int, within_ms: int, top: int, hour_ms: int
) -> Pipeline:
    """Return the pipeline; the arguments are the query parameters of the workload."""
    all_categories, some_categories = categories.every, categories.among

    def relevant(t: Any, out: Any) -> None:
        if t.user != 0:
            if t.sale == 0:
                if all_categories or t.category in some_categories:
                    out.emit(t.user, t.item, 0)
            elif t.item == item:
                out.emit(t.user, t.item, 1)

    def last_views(s: Any, t: Any, out: Any) -> None:
        if t.bought == 0:
            s.items[s.seen % views] = t.item
            s.times[s.seen % views] = t.ts
            s.seen += 1
        else:
            for view in range(max(0, s.seen - views), s.seen):
                if t.ts - s.times[view % views] <= within_ms:
                    out.emit(item, s.items[view % views])

    state = np.dtype(
        [("seen", np.int64), ("items", np.int32, (views,)), ("times", np.int64, (views,))]
    )
    return Pipeline(
        name="last_views_before_purchase",
        record="click",
        event=CLICK,
        stages=(
            stateless(name="relevant", output=STEP, apply=relevant),
            partitioned(
                name="last views",
                output=PAIR,
                key=_user,
                state=state,
                apply=last_views,
                max_outputs=views,
            ),
            counting(name="counts"),
            ranking(name="ranking", top=top, more_than=0, every_ms=hour_ms, restart=False),
        ),
    )


def _user(t: Any) -> Any:
    return t.user
