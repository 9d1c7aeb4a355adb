"""Query 3 as an operator with a state for each person: an incremental join with the person's auctions."""

from typing import Any

from streamlab.workloads.inputs.nexmark.incremental_join import incremental_join
from streamlab.workloads.inputs.nexmark.schema import (
    AUCTION,
    FIRST_CATEGORY,
    PERSON,
    STATES,
    fields,
)
from streamlab.workloads.model import Query

OUTPUT = fields("ts", "name", "city", "state", "auction")

_STATES = tuple(STATES.index(state) for state in ("OR", "ID", "CA"))
_SELLER = fields("joins", "name", "city", "state")


def program() -> Query:
    """Return the query."""
    operator = incremental_join(
        "sellers",
        kind=PERSON,
        columns=("person", "auction", "category", "name", "city", "state"),
        output=OUTPUT,
        state=_SELLER,
        keys=_seller,
        note=_note,
        emit=_emit,
    )
    return Query(name="nexmark_q3", operators=(operator,))


def _seller(t: Any, out: Any) -> None:
    """Add as key the person of a registration, or the seller of an auction in the category."""
    if t.type == PERSON or (t.type == AUCTION and t.category == FIRST_CATEGORY):
        out.add(t.person)


def _note(s: Any, t: Any) -> None:
    """Store a person in state `s`; persons of other states join nothing."""
    s.joins = 1 if t.state in _STATES else -1
    s.name = t.name
    s.city = t.city
    s.state = t.state


def _emit(s: Any, auction: Any, out: Any) -> None:
    out.emit(s.name, s.city, s.state, auction.auction)
