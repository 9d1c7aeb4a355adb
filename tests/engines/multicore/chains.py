"""Queries of several operators, and an input for them.

Functions are at module level, so that kernels are cached."""

import numpy as np

from streamlab.workloads.model import InputType, ListColumn, Operator, Query, Window, join
from streamlab.workloads.model.operators.program import SINGLE, keep
from tests.engines.inputs import input_of

# Functions at module level, so that kernels are cached.
READING = InputType(
    name="reading",
    fields=np.dtype([("x", np.int32), ("y", np.float64)]),
    lists=(("ids", np.dtype(np.int32)),),
)
COUNTS = np.dtype([("ts", np.int64), ("id", np.int32), ("count", np.int64), ("y", np.float64)])
COUNTED = InputType(name="counted", fields=np.dtype([(n, COUNTS[n]) for n in COUNTS.names[1:]]))
TOTALS = np.dtype([("ts", np.int64), ("group", np.int16), ("total", np.int64), ("most", np.int64)])
TOTALLED = InputType(name="totalled", fields=np.dtype([(n, TOTALS[n]) for n in TOTALS.names[1:]]))
LAST = np.dtype([("ts", np.int64), ("sum", np.int64)])


def ids_of(t, out):
    for key in t.ids:
        out.add(key)
    out.add(t.x % 3)


def count_up(w, t, out):
    w[0].count += 1
    w[0].y += t.y


def emit_count(w, out):
    out.emit(w[0].key, w[0].count, w[0].y)


def count_and_emit(w, t, out):
    w[0].count += 1
    out.emit(w[0].key, w[0].count + t.x, t.y)


def halve(w):
    w[0].count //= 2
    w[0].y = 0


def counting(window, **functions):
    return Operator(
        name="counting",
        inputs=(READING,),
        window=window,
        output=COUNTS,
        state=np.dtype([("count", np.int64), ("y", np.float64)]),
        keys=ids_of,
        buckets=7,
        **{"update": count_up, **functions},
    )


def groups_of(t, out):
    out.add(t.id % 2)
    out.add(2 + t.count % 2)


def add_up(w, t, out):
    w[0].total += t.count * (1 + t.id)
    if t.y > 0:
        w[0].most = max(w[0].most, t.count)


def emit_total(w, out):
    out.emit(w[0].key, w[0].total, w[0].most)


def pass_on(w, t, out):
    out.emit(w[0].key, t.count, t.id)


def forget(w):
    w[0].total = 0
    w[0].most = 0


def totalling(window, **functions):
    return Operator(
        name="totalling",
        inputs=(COUNTED,),
        window=window,
        output=TOTALS,
        state=np.dtype([("total", np.int64), ("most", np.int64)]),
        keys=groups_of,
        buckets=5,
        **{"update": add_up, **functions},
    )


def everything(t, out):
    out.add(0)


def sum_up(w, t, out):
    w[0].sum += t.total + 3 * t.group + t.most


def emit_sum(w, out):
    out.emit(w[0].sum)


def summing(window):
    return Operator(
        name="summing",
        inputs=(TOTALLED,),
        window=window,
        output=LAST,
        state=np.dtype([("sum", np.int64)]),
        keys=everything,
        update=sum_up,
        expire=emit_sum,
        buckets=3,
    )


def close(left, right):
    return abs(left.x - right.z) <= 1


def both(left, right, out):
    out.emit(left.x, right.z, 1.0)


PAIRING = join(
    name="pairing",
    left=InputType(name="left", fields=np.dtype([("x", np.int32)])),
    right=InputType(name="right", fields=np.dtype([("z", np.int64)])),
    size=4,
    output=COUNTS,
    match=close,
    emit=both,
    shares=5,
)
SLIDING = counting(Window(advance=2, size=5), expire=emit_count)
EMITTING = counting(
    Window(advance=3, size=5, type=SINGLE), update=count_and_emit, emits_on_update=True
)
HALVING = counting(Window(advance=2, size=6, type=SINGLE), expire=emit_count, slide=halve)
TUMBLING_TOTALS = totalling(Window(advance=4, size=4), expire=emit_total)
SINGLE_TOTALS = totalling(Window(advance=3, size=3, type=SINGLE), expire=emit_total, slide=forget)
PASSING = totalling(Window(advance=5, size=5), update=pass_on, emits_on_update=True)
KEEPING = {
    "window": Window(advance=1, size=1, type=SINGLE),
    "slide": keep,
    "emits_on_update": True,
    "keeps_time": True,
}
TIMED_COUNTS = counting(update=count_and_emit, **KEEPING)
TIMED_TOTALS = totalling(update=pass_on, **KEEPING)


def query(name, *operators):
    return Query(name=name, operators=operators)


QUERIES = {
    found.name: found
    for found in (
        query("aggregate twice", SLIDING, TUMBLING_TOTALS),
        query("emit then aggregate", EMITTING, TUMBLING_TOTALS),
        query("emit twice then aggregate", EMITTING, PASSING, summing(Window(advance=2, size=7))),
        query("single windows", HALVING, SINGLE_TOTALS),
        query("join then aggregate", PAIRING, TUMBLING_TOTALS),
        query("join, emit, aggregate", PAIRING, PASSING, summing(Window(advance=3, size=3))),
        query("keep times, aggregate", TIMED_COUNTS, TUMBLING_TOTALS),
        query(
            "aggregate, keep times, aggregate",
            SLIDING,
            TIMED_TOTALS,
            summing(Window(advance=3, size=6)),
        ),
        query("aggregate thrice", SLIDING, SINGLE_TOTALS, summing(Window(advance=9, size=9))),
    )
}


def readings(tuples, streams, seed):
    """Return an input of so many tuples in each stream."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(streams):
        lengths = rng.integers(0, 4, tuples)
        ids = np.split(rng.integers(0, 30, lengths.sum()), np.cumsum(lengths)[:-1])
        columns = {
            "x": rng.integers(-9, 9, tuples).astype(np.int32),
            "y": rng.integers(-3, 4, tuples).astype(np.float64),
            "ids": ListColumn.of([row.tolist() for row in ids], np.int32),
        }
        made.append((0, np.sort(rng.integers(-500, 500, tuples)), columns))
    return input_of(("reading",), *made)
