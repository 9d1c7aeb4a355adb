"""Pipelines for the tests of variants `ordered` and `layers`, and inputs for them.

Functions are at module level, so that kernels are cached. Numbers stay small: compiled ones wrap
around, Python's do not.
"""

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.model import OutputType, Pipeline, partitioned, stateful, stateless
from tests.engines.inputs import input_of

EVENT = np.dtype([("x", np.int32), ("y", np.float64)])
SCALED = np.dtype([("ts", np.int64), ("x", np.int64), ("half", np.float32), ("odd", np.bool_)])
COUNTED = np.dtype([("ts", np.int64), ("key", np.int16), ("count", np.int64), ("last", np.int64)])
TOTAL = np.dtype([("ts", np.int64), ("total", np.int64), ("far", np.float64)])
SEEN = np.dtype([("count", np.int64), ("last", np.int64, (3,))])
SUMMED = np.dtype([("sum", np.int64), ("y", np.float64)])


def scale(t, out):
    out.emit(3 * t.x - 1, t.y / 2, t.x % 2 == 1)


def some(t, out):
    if t.x > 0:
        out.emit(3 * t.x, t.y, True)


def nothing(t, out):
    if t.x > 1_000_000:
        out.emit(t.x, t.y, False)


def many(t, out):
    for i in range(t.x % 4):
        out.emit(t.x + i, t.y, i == 1)


def repeat(t, out):
    for i in range(50):
        out.emit(i * t.x, t.half, t.odd)


def by_x(t):
    return t.x % 5


def by_half(t):
    return int(t.half) * 7 - 2


def remember(s, t, out):
    s.last[s.count % 3] = t.x
    s.count += 1
    out.emit(t.x % 5, s.count, s.last[0] + 10 * s.last[1] + 100 * s.last[2])


def now_and_then(s, t, out):
    s.count += 1
    if s.count % 3 == 0:
        out.emit(t.x % 5, s.count, t.x)


def twice(s, t, out):
    s.count = 3 * s.count % 1_000_003 + t.x
    for i in range(2):
        out.emit(t.x % 5, s.count % 1009, i)


def pass_on(t, out):
    out.emit(t.key, t.count, -t.last)


def running(s, t, out):
    s.count = 3 * s.count % 1_000_003 + t.x
    out.emit(0, s.count, t.x)


def total(s, t, out):
    s.sum = 3 * s.sum % 1_000_003 + t.last * t.key + t.count
    s.y += 0.5
    out.emit(s.sum, s.y)


def raises(s, t, out):
    if t.x == 11:
        raise ValueError("eleven")
    out.emit(t.x % 5, s.count, 0)


def each(apply, output=SCALED, **more):
    return stateless(name=apply.__name__, output=output, apply=apply, **more)


def keyed(apply, key=by_x, **more):
    return partitioned(
        name=apply.__name__, output=COUNTED, key=key, state=SEEN, apply=apply, **more
    )


RUNNING = stateful(name="running", output=COUNTED, state=SEEN, apply=running)
TOTALLING = stateful(name="total", output=TOTAL, state=SUMMED, apply=total)
IN_ORDER = OutputType(kinds=("row",), depends=lambda a, b: True, sorted=True)
BY_KEY = OutputType(
    kinds=("row",), depends=lambda a, b: a.key == b.key, key_field="key", sorted=True
)


def pipeline(name, *stages):
    return Pipeline(name=name, record="reading", event=EVENT, stages=stages)


SEQUENCES = {
    found.name: found
    for found in (
        pipeline("stateless", each(scale)),
        pipeline("a filter, keys, a total", each(some), keyed(remember), TOTALLING),
        pipeline("keys by range", each(scale), keyed(remember, bounds=(-4, 0, 1, 5)), TOTALLING),
        pipeline("keys of negative numbers", each(scale), keyed(now_and_then, by_half)),
        pipeline("nothing passes", each(nothing), keyed(remember), TOTALLING),
        pipeline("many of few", each(many, max_outputs=3), keyed(twice, max_outputs=2), TOTALLING),
        pipeline(
            "fifty of each",
            each(scale),
            each(repeat, max_outputs=50),
            keyed(remember, partitions=7),
            TOTALLING,
        ),
        pipeline("keys first", keyed(remember)),
    )
}
"""Pipelines whose answer is one sequence."""

GRAPHS = {
    found.name: (found, output)
    for found, output in (
        (pipeline("stateless", each(scale)), IN_ORDER),
        (pipeline("many of few", each(many, max_outputs=3)), IN_ORDER),
        (pipeline("a total of some", each(some), RUNNING), IN_ORDER),
        (pipeline("nothing passes", each(nothing), RUNNING), IN_ORDER),
        (pipeline("keys first", keyed(remember)), BY_KEY),
        (pipeline("some, keys", each(some), keyed(now_and_then)), BY_KEY),
        (pipeline("keys by range", each(scale), keyed(remember, bounds=(-1, 1, 3))), BY_KEY),
        (pipeline("keys, passed on", keyed(twice, max_outputs=2), each(pass_on, COUNTED)), BY_KEY),
    )
}
"""Pipelines whose answers do not depend on which instance is first among ties, and their outputs."""

LAYOUTS = st.lists(st.just(("reading",)), min_size=1, max_size=3).map(tuple)
"""The kinds of each stream of a random input."""


def readings(records, streams, seed, span=500):
    """Return an input of so many records in each stream, at times between -span and span."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(streams):
        ts = np.sort(rng.integers(-span, span, records))
        x = rng.integers(-9, 99, records).astype(np.int32)
        made.append((0, ts, {"x": x, "y": rng.integers(-30, 40, records).astype(np.float64)}))
    return input_of(("reading",), *made)
