"""Small inputs of sales and clicks for tests: few ids, and gaps on and beside every boundary."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.inputs.retail.schema import CLICK, SALE
from streamlab.workloads.model import Alphabet, Input, Stream

SALES = {
    "ticket": st.integers(0, 4),
    "item": st.integers(0, 6),
    "category": st.integers(1, 4),
    "store": st.integers(9, 11),
    "quantity": st.integers(1, 3),
    "net_paid": st.integers(-40, 200),
}
CLICKS = {
    "user": st.sampled_from([0, 1, 1, 2]),
    "item": st.sampled_from([0, 1, 1, 2, 3, 4]),
    "sale": st.sampled_from([0, 0, 0, 7, 8]),
    "category": st.integers(1, 4),
    "page": st.integers(0, 3),
}


def sale_inputs(gaps: Sequence[int], first: int = 0) -> st.SearchStrategy[Input]:
    """Sales on one or two streams, the time between them one of `gaps`."""
    return _inputs("sale", SALE, SALES, gaps, first)


def click_inputs(gaps: Sequence[int], first: int = 0) -> st.SearchStrategy[Input]:
    """Clicks on one or two streams, the time between them one of `gaps`."""
    return _inputs("click", CLICK, CLICKS, gaps, first)


@st.composite
def _inputs(
    draw: st.DrawFn,
    kind: str,
    fields: np.dtype[np.void],
    values: Mapping[str, st.SearchStrategy[int]],
    gaps: Sequence[int],
    first: int,
) -> Input:
    streams = []
    row = st.tuples(st.sampled_from(gaps), *values.values())
    for _ in range(draw(st.integers(1, 2))):
        size = draw(st.integers(0, 60))  # lists of any size are mostly short
        drawn = draw(st.lists(row, min_size=size, max_size=size))
        ts = first + np.cumsum([gap for gap, *_ in drawn], dtype=np.int64)
        table = [dict(zip(values, found, strict=True)) for _, *found in drawn]
        streams.append((ts.tolist(), table))
    return made(kind, fields, *streams)


def sales(*rows: tuple[int, dict[str, int]]) -> Input:
    """One stream of sales: (ts, fields), where fields that are not given are 1."""
    return made("sale", SALE, ([ts for ts, _ in rows], [given for _, given in rows]), default=1)


def clicks(*rows: tuple[int, dict[str, int]]) -> Input:
    """One stream of clicks: (ts, fields); what is not given is 0, but the user is 1."""
    given = [{"user": 1} | fields for _, fields in rows]
    return made("click", CLICK, ([ts for ts, _ in rows], given))


def made(
    kind: str,
    fields: np.dtype[np.void],
    *streams: tuple[list[int], list[dict[str, Any]]],
    default: int = 0,
) -> Input:
    return Input(
        alphabet=Alphabet(kinds=(kind,), keys=1),
        streams=tuple(
            Stream(
                name=f"{kind}-{index}",
                kinds=(0,),
                ts=np.array(ts, dtype=np.int64),
                payload={
                    name: np.array([row.get(name, default) for row in table], dtype=fields[name])
                    for name in fields.names or ()
                },
            )
            for index, (ts, table) in enumerate(streams)
        ),
    )
