"""Sums each sensor's readings between two resets, from a CSV file."""

import numpy as np

from streamlab import csv, workload
from streamlab.workloads.model import DGSProgram, ForkJoin, StateType

READING, RESET = 0, 1
COUNTER = np.dtype([("total", np.int64)])


def depends(a, b):  # a sensor's readings commute; a reset depends on all of them
    return a.key == b.key and (a.kind == RESET or b.kind == RESET)


def init(state):
    state.total = 0


def update(state, event, out):  # the sequential program
    if event.kind == READING:
        state.total += event.value
    else:
        out.emit(event.ts, event.key, state.total)
        state.total = 0


def fork(state, pred1, pred2, first, second):  # the part that may see resets gets the total
    if pred2[RESET]:
        second.total = state.total
    else:
        first.total = state.total


def join(first, second, state):
    state.total = first.total + second.total


PROGRAM = DGSProgram(
    name="sensors",
    kinds=("reading", "reset"),
    event=np.dtype([("value", np.int64)]),
    output=np.dtype([("ts", np.int64), ("key", np.int32), ("total", np.int64)]),
    depends=depends,
    states=(StateType(name="counter", dtype=COUNTER, update=update),),
    init=init,
    parallel=(ForkJoin(parent="counter", first="counter", second="counter", fork=fork, join=join),),
    keyed=True,
)
WORKLOAD = workload(PROGRAM, input=csv("sensors.csv", ts="time", key="sensor", kind="kind"))
