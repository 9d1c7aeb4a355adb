"""Programs of tests, in a file that Spark's Python workers load as they load a user's."""

from dataclasses import replace

import numpy as np

from streamlab.workloads.model import DGSProgram, OutputType, StateType
from streamlab.workloads.suite.event_window import WORKLOAD as WINDOWS

PAIR = np.dtype([("ts", np.int64), ("a", np.int64), ("b", np.int64)])
TYPES = (np.bool_, np.int8, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64)


def count(s, e, out):
    if e.kind < 2:
        s.first += 1
        out.emit(e.ts, e.kind, s.first)
    else:
        s.second += e.v
        out.emit(e.ts, e.kind, s.second)


def kinds_apart(a, b):
    return (a.kind < 2) == (b.kind < 2)


def keys_apart(a, b):
    return a.key == b.key


def nothing(s):
    pass


def two_counters(depends, keyed=False):
    state = np.dtype([("first", np.int64), ("second", np.int64)])
    return DGSProgram(
        name="two_counters",
        kinds=("tick", "tock", "amount"),
        event=np.dtype([("v", np.int64)]),
        output=PAIR,
        depends=depends,
        states=(StateType(name="both", dtype=state, update=count),),
        init=nothing,
        keyed=keyed,
    )


def workload_of(name, update, fields, output):
    plain = two_counters(kinds_apart)
    first = replace(plain.states[0], update=update)
    program = replace(plain, event=np.dtype(fields), output=output, states=(first,))
    trace = OutputType(kinds=("all",), depends=kinds_apart)
    return replace(WINDOWS, name=name, program=program, output=trace, reference="")


def failing(s, e, out):
    raise ValueError("no such tick")


def repeat(s, e, out):
    out.emit(e.ts, e.v0, e.V0, e.v2, e.V2, e.v4, e.V4, e.v6, e.V6)


FIELDS = [(f"{'vV'[i % 2]}{i - i % 2}", of) for i, of in enumerate(TYPES)]
"""Of all types; names differ in their case only, which Spark leaves out of account by default."""
BROKEN = workload_of("broken", failing, [("v0", np.int64)], PAIR)
MANY_TYPES = workload_of("many_types", repeat, FIELDS, np.dtype([("ts", np.int64), *FIELDS]))
HALVES = workload_of("halves", failing, [("v0", np.float16)], PAIR)
