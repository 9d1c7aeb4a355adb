"""Windows by definition: a slow, obvious oracle for the interpreter, and operators to test it with.

Nothing here comes from the interpreter: which windows a tuple falls in is found by trying all.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.model import (
    Alphabet,
    Input,
    InputType,
    ListColumn,
    Operator,
    Query,
    Stream,
    Window,
)

HUGE = 2**61
KEYS = np.dtype(np.int64)
VALUE = np.dtype([("value", np.int64)])
TOTALS = np.dtype([("ts", np.int64), ("key", np.int64), ("count", np.int64), ("total", np.int64)])
Row = tuple[int, ...]


class Tuple(NamedTuple):
    ts: int
    input: int
    keys: tuple[int, ...]
    value: int


def lefts(ts: int, window: Window) -> list[int]:
    """All l = n x WA with l <= ts < l + WS."""
    return [left for left in range(ts - window.size + 1, ts + 1) if left % window.advance == 0]


def windows(tuples: Iterable[Tuple], window: Window) -> dict[tuple[int, int], list[Tuple]]:
    """The tuples of every (left, key) that has any."""
    held: dict[tuple[int, int], list[Tuple]] = {}
    for t in tuples:
        for left in lefts(t.ts, window):
            for key in set(t.keys):
                held.setdefault((left, key), []).append(t)
    return held


def totals(tuples: list[Tuple], window: Window, watermark: int) -> list[Row]:
    """(ts, key, count, total) of every window that the watermark has passed."""
    return sorted(
        (left + window.size, key, len(held), sum(t.value for t in held))
        for (left, key), held in windows(tuples, window).items()
        if left + window.size <= watermark
    )


def pairs(
    tuples: list[Tuple], window: Window, match: Callable[[int, int], bool]
) -> list[tuple[int, int, int]]:
    """(ts, left value, right value) of every pair at most WS apart that matches."""
    found = []
    for place, later in enumerate(tuples):
        for earlier in tuples[:place]:
            if earlier.input != later.input and earlier.ts + window.size >= later.ts:
                first, second = (earlier, later) if later.input else (later, earlier)
                if match(first.value, second.value):
                    right = min(lefts(later.ts, window)) + window.size
                    found.append((right, first.value, second.value))
    return sorted(found)


def in_total_order(streams: list[list[Tuple]]) -> list[Tuple]:
    places = [
        (t.ts, index, row) for index, stream in enumerate(streams) for row, t in enumerate(stream)
    ]
    return [streams[index][row] for _, index, row in sorted(places)]


def watermark(tuples: list[Tuple], until_ts: int | None) -> int:
    if until_ts is not None:
        return until_ts - 1
    return tuples[-1].ts if tuples else -(2**63)


def input_of(streams: list[list[Tuple]], inputs: int, until_ts: int | None = None) -> Input:
    """The streams as columns; each may hold tuples of several inputs."""
    made = []
    for index, tuples in enumerate(streams):
        made.append(
            Stream(
                name=f"s{index}",
                kinds=tuple(range(inputs)),
                ts=np.array([t.ts for t in tuples], dtype=np.int64),
                tag=np.array([t.input for t in tuples], dtype=np.int32),
                payload={
                    "value": np.array([t.value for t in tuples], dtype=np.int64),
                    "keys": ListColumn.of([list(t.keys) for t in tuples], KEYS),
                },
            )
        )
    alphabet = Alphabet(kinds=tuple(f"input{index}" for index in range(inputs)))
    return Input(alphabet=alphabet, streams=tuple(made), until_ts=until_ts)


def input_types(inputs: int) -> tuple[InputType, ...]:
    return tuple(
        InputType(name=f"input{index}", fields=VALUE, lists=(("keys", KEYS),))
        for index in range(inputs)
    )


def all_keys(t: Any, out: Any) -> None:
    for key in t.keys:
        out.add(key)


def counting(window: Window, inputs: int = 1) -> Operator:
    """Count and total by a state that is updated as tuples come."""

    def update(w: Any, t: Any, out: Any) -> None:
        w[t.input].count += 1
        w[t.input].total += t.value

    def expire(w: Any, out: Any) -> None:
        out.emit(w[0].key, sum(part.count for part in w), sum(part.total for part in w))

    return Operator(
        name="counting",
        inputs=input_types(inputs),
        window=window,
        output=TOTALS,
        state=np.dtype([("count", np.int64), ("total", np.int64)]),
        keys=all_keys,
        update=update,
        expire=expire,
    )


def storing(window: Window, inputs: int = 1) -> Operator:
    """Count and total of stored tuples, by the default f_U (and f_S)."""

    def expire(w: Any, out: Any) -> None:
        kept = [t for part in w for t in part.tuples]
        out.emit(w[0].key, len(kept), sum(t.value for t in kept))

    return Operator(
        name="storing",
        inputs=input_types(inputs),
        window=window,
        output=TOTALS,
        state=np.dtype([]),
        keys=all_keys,
        expire=expire,
        stores=True,
    )


def query(*operators: Operator) -> Query:
    return Query(name="query", operators=operators)


@st.composite
def shapes(draw: st.DrawFn, type: str) -> Window:
    """WA = WS, WA < WS, and WS no multiple of WA."""
    size = draw(st.integers(1, 9))
    return Window(advance=draw(st.integers(1, size)), size=size, type=type)


@st.composite
def inputs(
    draw: st.DrawFn, kinds: int, most: int = 10
) -> tuple[list[list[Tuple]], list[Tuple], int | None]:
    """Streams, their tuples in total order, and where the input is cut off, if it is.

    Around 0 or far from it, in either direction; with ties, gaps and tuples without a key.
    """
    origin = draw(st.sampled_from([0, 0, -HUGE, HUGE]))
    times = st.integers(-12, 12) | st.integers(-(10**6), 10**6)
    tuples = st.builds(
        Tuple,
        times.map(lambda ts: origin + ts),
        st.integers(0, kinds - 1),
        st.lists(st.integers(-1, 2), max_size=3).map(tuple),
        st.integers(-3, 3),
    )
    streams = draw(st.lists(st.lists(tuples, max_size=most), min_size=1, max_size=3))
    streams = [sorted(stream, key=lambda t: t.ts) for stream in streams]
    ordered = in_total_order(streams)
    end = ordered[-1].ts + 1 if ordered else origin
    return streams, ordered, draw(st.none() | st.integers(end, end + 15))


def swaps(elements: tuple[Any, ...], dependent: Callable[[Any, Any], bool]) -> set[tuple[Any, ...]]:
    """Return the trace of a sequence by definition: all that swaps of independent neighbours lead to."""
    found, new = {elements}, [elements]
    while new:
        u = new.pop()
        for i in range(len(u) - 1):
            if not dependent(u[i], u[i + 1]):
                v = (*u[:i], u[i + 1], u[i], *u[i + 2 :])
                if v not in found:
                    found.add(v)
                    new.append(v)
    return found
