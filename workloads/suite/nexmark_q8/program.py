"""Query 8 as an operator with tumbling windows of each person, which emits a person at most once a window."""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import BID, EVENT, PERSON, fields
from streamlab.workloads.model import InputType, Operator, Query, Window

OUTPUT = fields("ts", "person", "name")

_STATE = np.dtype([("registered", np.int8), ("opened", np.int8), ("name", np.int32)])


def program(size_ms: int) -> Query:
    """Return the query for windows of this length."""
    operator = Operator(
        name="new_sellers",
        inputs=(InputType(name=EVENT, fields=fields("type", "person", "name")),),
        window=Window(advance=size_ms, size=size_ms),
        output=OUTPUT,
        state=_STATE,
        keys=_person,
        update=_note,
        expire=_emit,
    )
    return Query(name="nexmark_q8", operators=(operator,))


def _person(t: Any, out: Any) -> None:
    """Add as key the person of a registration, or the seller of an auction."""
    if t.type != BID:
        out.add(t.person)


def _note(w: Any, t: Any, out: Any) -> None:
    """Record in the window that the person registered or opened an auction."""
    if t.type == PERSON:
        w[0].registered = 1
        w[0].name = t.name
    else:
        w[0].opened = 1


def _emit(w: Any, out: Any) -> None:
    if w[0].registered and w[0].opened:
        out.emit(w[0].key, w[0].name)
