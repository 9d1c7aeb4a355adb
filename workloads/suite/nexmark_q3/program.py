"""Query 3 as an operator with a state for each person: an incremental join.

An auction may precede its seller; it is then stored. A row has the time of the later event.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import (
    AUCTION,
    EVENT,
    FIRST_CATEGORY,
    FOREVER_MS,
    PERSON,
    STATES,
    fields,
)
from streamlab.workloads.model import InputType, Operator, Query, Window
from streamlab.workloads.model.operators.program import SINGLE, keep

OUTPUT = np.dtype(
    [
        ("ts", np.int64),
        ("name", np.int32),
        ("city", np.int32),
        ("state", np.int8),
        ("auction", np.int32),
    ]
)

_STATES = tuple(STATES.index(state) for state in ("OR", "ID", "CA"))
_SELLER = np.dtype([("known", np.int8), ("name", np.int32), ("city", np.int32), ("state", np.int8)])


def program() -> Query:
    """Return the query."""
    operator = Operator(
        name="sellers",
        inputs=(
            InputType(
                name=EVENT,
                fields=fields("type", "person", "auction", "category", "name", "city", "state"),
            ),
        ),
        window=Window(advance=FOREVER_MS, size=FOREVER_MS, type=SINGLE),
        output=OUTPUT,
        state=_SELLER,
        keys=_seller,
        update=_join,
        slide=keep,
        stores=True,
        emits_on_update=True,
        keeps_time=True,
        max_outputs=64,
    )
    return Query(name="nexmark_q3", operators=(operator,))


def _seller(t: Any, out: Any) -> None:
    if t.type == PERSON or (t.type == AUCTION and t.category == FIRST_CATEGORY):
        out.add(t.person)


def _join(w: Any, t: Any, out: Any) -> None:
    s = w[0]
    if t.type == PERSON:
        s.known = 1
        s.name = t.name
        s.city = t.city
        s.state = t.state
        while s.tuples:
            if t.state in _STATES:
                out.emit(t.name, t.city, t.state, s.tuples[0].auction)
            s.tuples.popleft()
    elif s.known == 0:
        s.tuples.append(t)
    elif s.state in _STATES:
        out.emit(s.name, s.city, s.state, t.auction)
