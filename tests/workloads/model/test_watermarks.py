"""Streams with disorder: against tuples held back one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.model import ListColumn, ModelError
from workloads.model.watermarks import Disordered, admit

TUPLE, WATERMARK = "tuple", "watermark"


def held_back(steps: list[tuple[str, int]]) -> tuple[list[tuple[int, int]], list[int]]:
    """Let tuples go when a watermark has passed them; the rest at the end. (ts, row) of each."""
    waiting: list[tuple[int, int]] = []
    gone: list[tuple[int, int]] = []
    late: list[int] = []
    promised: int | None = None
    row = 0
    for what, ts in steps:
        if what == WATERMARK:
            promised = ts if promised is None else max(promised, ts)
            gone += sorted(t for t in waiting if t[0] < promised)
            waiting = [t for t in waiting if t[0] >= promised]
        elif promised is not None and ts < promised:
            late.append(row)
        else:
            waiting.append((ts, row))
        row += what == TUPLE
    return gone + sorted(waiting), late


def disordered(steps: list[tuple[str, int]]) -> Disordered:
    ts = [value for what, value in steps if what == TUPLE]
    places = [
        sum(what == TUPLE for what, _ in steps[:place])
        for place, (what, _) in enumerate(steps)
        if what == WATERMARK
    ]
    rows = range(len(ts))
    return Disordered(
        name="s",
        kinds=(0,),
        ts=np.array(ts, dtype=np.int64),
        tag=np.zeros(len(ts), dtype=np.int32),
        payload={
            "row": np.array(rows, dtype=np.int64),
            "rows": ListColumn.of([[row] * (row % 3) for row in rows], np.int64),
        },
        watermarks=np.array([value for what, value in steps if what == WATERMARK], dtype=np.int64),
        sent_after=np.array(places, dtype=np.int64),
    )


@given(st.lists(st.tuples(st.sampled_from([TUPLE, TUPLE, WATERMARK]), st.integers(-4, 4))))
def test_sorting_equals_holding_tuples_back_until_a_watermark_passes_them(steps):
    expected, late = held_back(steps)
    found = admit(disordered(steps))
    stream = found.stream
    assert list(zip(stream.ts.tolist(), stream.payload["row"].tolist(), strict=True)) == expected
    assert list(stream.payload["rows"].rows()) == [[row] * (row % 3) for _, row in expected]
    assert found.late.tolist() == late
    promised = [ts for what, ts in steps if what == WATERMARK]
    assert found.until_ts == (max(promised) if promised else None)
    # Each watermark that said something new is a promise of the sorted stream too.
    assert stream.heartbeats.tolist() == sorted(
        {max(promised[: n + 1]) - 1 for n in range(len(promised))}
    )


@pytest.mark.parametrize(
    ("sent_after", "message"),
    [([1], "2 watermarks and 1 places"), ([1, 0], "decrease"), ([0, 3], "0 to 3 tuples; it has 2")],
)
def test_watermarks_at_impossible_places_are_refused(sent_after, message):
    with pytest.raises(ModelError, match=message):
        Disordered(
            name="s",
            kinds=(0,),
            ts=np.array([1, 0], dtype=np.int64),
            watermarks=np.array([5, 6], dtype=np.int64),
            sent_after=np.array(sent_after, dtype=np.int64),
        )
