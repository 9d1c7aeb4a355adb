"""Programs with DGS for the tests of the core, their inputs, and costs for plans."""

import numpy as np
import pytest

from streamlab.workloads.datasets.builder import generate_input
from streamlab.workloads.model import DGSProgram, ForkJoin, OutputType, StateType
from streamlab.workloads.optimizers import Costs
from streamlab.workloads.registry import names, workload
from tests.across import HOUSE, KINDS, READ, SLICE, house_of
from tests.engines.inputs import input_of

SLOW_TO_COMPILE = {"outlier_detection"}
"""Workloads whose kernels take 7 s to compile anew, because of their many fields."""
BY_COST = [
    pytest.param(name, marks=pytest.mark.full) if name in SLOW_TO_COMPILE else name
    for name in names()
    if isinstance(workload(name).program, DGSProgram)
]
"""Workloads, of which `make test` leaves the slow to compile to `make test-all`. It runs them on
this engine in tests/engines/test_conformance.py."""
STATE = np.dtype([("total", np.int64), ("last", np.int64), ("history", np.int64, (4,))])
PART = np.dtype([("total", np.int64)])


def _init(state):
    state.last = 7


def _update_root(state, event, out):
    if event.kind == 0:
        state.total += event.amount
    else:
        state.history[event.amount % 4] += state.total
        out.emit(event.ts, state.total + state.last + state.history[0])
        state.last = state.total


def _update_part(state, event, out):
    state.total += event.amount


def _fork(state, pred1, pred2, first, second):
    first.total = state.total
    first.last = state.last
    for i in range(4):
        first.history[i] = state.history[i]


def _join(first, second, state):
    state.total = first.total + second.total
    state.last = first.last
    for i in range(4):
        state.history[i] = first.history[i]


def two_state_types():
    return DGSProgram(
        name="two_types",
        kinds=("add", "read"),
        event=np.dtype([("amount", np.int64)]),
        output=np.dtype([("ts", np.int64), ("value", np.int64)]),
        depends=lambda a, b: a.kind == 1 or b.kind == 1,
        states=(
            StateType(name="whole", dtype=STATE, update=_update_root),
            StateType(name="part", dtype=PART, update=_update_part, kinds=frozenset({"add"})),
        ),
        init=_init,
        parallel=(ForkJoin(parent="whole", first="whole", second="part", fork=_fork, join=_join),),
    )


TWO_TYPES = (two_state_types(), OutputType(kinds=("read",), depends=lambda a, b: True))
SUMS = np.dtype([("ac", np.int64), ("c", np.int64)])


def _init_sums(state):
    state.ac = 0


def _update_sums(state, event, out):
    if event.kind == 0:
        state.ac += event.amount
    elif event.kind == 2:
        state.c += event.amount
    elif event.kind == 1:
        out.emit(event.ts, 1, state.ac)
        state.ac = 0
    else:
        out.emit(event.ts, 3, state.c)
        state.c = 0


def _fork_sums(state, pred1, pred2, first, second):
    if pred2[1]:
        second.ac = state.ac
    else:
        first.ac = state.ac
    if pred2[3]:
        second.c = state.c
    else:
        first.c = state.c


def _join_sums(first, second, state):
    state.ac = first.ac + second.ac
    state.c = first.c + second.c


def _depends_in_pairs(first, second):
    # a-b and c-d depend on each other; a and c share streams, b and d share another.
    return {first.kind, second.kind} in ({0, 1}, {1}, {2, 3}, {3})


TWO_PAIRS = (
    DGSProgram(
        name="two_pairs",
        kinds=("a", "b", "c", "d"),
        event=np.dtype([("amount", np.int64)]),
        output=np.dtype([("ts", np.int64), ("kind", np.int8), ("value", np.int64)]),
        depends=_depends_in_pairs,
        states=(StateType(name="sums", dtype=SUMS, update=_update_sums),),
        init=_init_sums,
        parallel=(
            ForkJoin(parent="sums", first="sums", second="sums", fork=_fork_sums, join=_join_sums),
        ),
    ),
    OutputType(kinds=("a", "b", "c", "d"), depends=_depends_in_pairs, kind_field="kind"),
)
KEYS = 40


def plugs(events=4000, streams=2, seed=1):
    """Return readings in several streams, houses' events in one and slices in another."""
    rng = np.random.default_rng(seed)

    def stream(kind, ts, keys=None):
        columns = {"value": rng.integers(-9, 9, len(ts))}
        if keys is not None:
            columns["tag"] = kind + len(KINDS) * keys
        return kind, np.sort(ts), columns

    read = [
        stream(READ, rng.integers(0, events, events), rng.integers(0, KEYS, events))
        for _ in range(streams)
    ]
    houses = rng.integers(0, house_of(KEYS - 1) + 1, events // 20)
    house = stream(HOUSE, rng.integers(0, events, len(houses)), houses)
    slices = stream(SLICE, np.arange(0, events, events // 50))
    return input_of(KINDS, *read, house, slices, keys=KEYS)


def generated(name, events, seed=3, **params):
    """Return the input that a workload generates."""
    subject = workload(name)
    return generate_input(subject, subject.params(params), events, seed)


COSTS = Costs(
    update_ns=4, order_ns=60, fork_join_ns=50, handover_ns=100, skip_ns=0.3, start_ns=0, cores=2
)
