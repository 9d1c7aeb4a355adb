"""Queries of one operator O+ whose windows, types and functions vary.

Functions are at module level, so that kernels are cached.
"""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.model import InputType, Operator, Query, Window, join
from streamlab.workloads.model.operators.program import SINGLE
from streamlab.workloads.registry import workload
from tests.workloads.suite.small_inputs import event_time_workloads

QUERIES = [name for name in event_time_workloads() if isinstance(workload(name).program, Query)]
"""Workloads of operators O+."""
SEVERAL = "carries several inputs; give each input separate streams"
"""Why a join does not read all of its input from one stream."""


def ids_of(t, out):
    for key in t.ids:
        out.add(key)
    out.add(t.x % 3)


def count_up(w, t, out):
    w[t.input].sum += t.x
    w[t.input].count += 1


def emit_sums(w, out):
    out.emit(w[0].key, w[0].sum, w[-1].count)


def count_and_emit(w, t, out):
    w[t.input].sum += t.x
    w[t.input].count += 1
    out.emit(w[0].key, w[0].sum, w[-1].count)


def halve(w):
    for part in w:
        part.sum = 0
        part.count //= 2


def move_by_left(w):
    w[0].sum = w[0].left
    w[0].count -= w[0].count


BUCKETS = 7
FIRST = InputType(
    name="first",
    fields=np.dtype([("x", np.int64)]),
    lists=(("ids", np.dtype(np.int32)),),
)
SECOND = replace(FIRST, name="second")
OUTPUT = np.dtype([("ts", np.int64), ("key", np.int64), ("sum", np.int64), ("count", np.int64)])
STATE = np.dtype([("sum", np.int64), ("count", np.int32)])


def query(name, window, **functions):
    operator = Operator(
        name=name,
        inputs=(FIRST, SECOND),
        window=window,
        output=OUTPUT,
        state=STATE,
        buckets=BUCKETS,
        **{"keys": ids_of, "update": count_up, **functions},
    )
    return Query(name=name, operators=(operator,))


def close(left, right):
    return abs(left.x - right.y) <= 1


def both(left, right, out):
    out.emit(left.x, right.y)


def emit_kept(w, out):
    for part in w:
        if part.tuples:
            out.emit(part.key, part.tuples[0].x, part.tuples[-1].x + 10 * len(part.tuples))


def by_remainders(t, out):
    out.add(t.x % 2)
    out.add(t.x % 3)


def meet_by_key(w, t, out):
    this, others = w[t.input], w[1 - t.input]
    while len(others.tuples) > 3:
        others.tuples.popleft()
    for other in others.tuples:
        out.emit(this.key, other.x, other.ts + 10 * other.input)
    this.count += 1
    if this.count % 3:
        this.tuples.append(t)


PLAIN = InputType(name="first", fields=np.dtype([("x", np.int64), ("y", np.float32)]))
OTHERS = replace(PLAIN, name="second")


def keeping(name, window, **functions):
    """Return a query of one operator that stores tuples, by default as Table I has it."""
    operator = Operator(
        name=name,
        inputs=(PLAIN, OTHERS),
        window=window,
        output=OUTPUT,
        state=np.dtype([("count", np.int64)]),
        keys=by_remainders,
        stores=True,
        buckets=BUCKETS,
        max_outputs=8,
        **functions,
    )
    return Query(name=name, operators=(operator,))


PAIRS = np.dtype([("ts", np.int64), ("x", np.int32), ("y", np.int32)])
JOIN = Query(
    name="pairs",
    operators=(
        join(
            name="pairs",
            left=InputType(name="left", fields=np.dtype([("x", np.int32)])),
            right=InputType(name="right", fields=np.dtype([("y", np.int32)])),
            size=4,
            output=PAIRS,
            match=close,
            emit=both,
            shares=5,
        ),
    ),
)
RANDOM = {
    "tumbling": query("tumbling", Window(advance=3, size=3), expire=emit_sums),
    "sliding": query("sliding", Window(advance=2, size=5), expire=emit_sums),
    "emitting": query(
        "emitting", Window(advance=4, size=4), update=count_and_emit, emits_on_update=True
    ),
    "single": query(
        "single", Window(advance=2, size=6, type=SINGLE), expire=emit_sums, slide=halve
    ),
    "lazy": query(
        "lazy",
        Window(advance=3, size=5, type=SINGLE),
        update=count_and_emit,
        emits_on_update=True,
    ),
    "left": query(
        "left", Window(advance=3, size=5, type=SINGLE), expire=emit_sums, slide=move_by_left
    ),
    "bag": query("bag", Window(advance=2, size=5), expire=emit_sums, bag=True),
    "pairs": JOIN,
}
STORED = {
    "kept": keeping("kept", Window(advance=2, size=5, type=SINGLE), expire=emit_kept),
    "met": keeping(
        "met",
        Window(advance=1, size=9, type=SINGLE),
        update=meet_by_key,
        emits_on_update=True,
    ),
    "kept in several": keeping("kept in several", Window(advance=2, size=5), expire=emit_kept),
}


def layouts_of(asked):
    """Draw which inputs the streams of a query's input carry."""
    if asked is JOIN:
        return st.just((("left",), ("right",)))
    one = st.sampled_from([("first",), ("second",)])
    return st.lists(one, min_size=1, max_size=3).map(tuple)
