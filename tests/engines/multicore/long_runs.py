"""A process of native runs that last minutes each, for the tests of Ctrl-C.

It says `running NAME` when a run is under way, and when that was interrupted, `interrupted NAME`
and how many threads it has left behind. The last run's exception is nobody's.
"""

import faulthandler
import os
import signal
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from streamlab.workloads.model import Pipeline, Query, Window, stateless
from streamlab.workloads.model.dataflow import Flow, OpStateless, U
from streamlab.workloads.registry import workload
from tests.engines.inputs import input_of
from tests.engines.multicore import memory_limit
from tests.engines.multicore.native_runs import even_load, make_run

WORKERS = 3
"""On one core: fewer cores than threads."""
SLOW_EVENTS = 1_000_000
"""A millisecond each."""
JOINED_ROWS = 1_000_000
"""Of each input, each compared with each."""
PATIENT_S = 1e6
"""A thread of the interpreter waits for so long for the others, unless they wait themselves."""
LOAD_EVENTS, GAP_NS = 50, 10_000_000_000


def slow(x):
    """Take a millisecond."""
    for _ in range(500_000):
        x = (x * 1_103_515_245 + 12_345) % 2_147_483_648
    return x


def slow_sum(state, event, out):
    if event.kind == 1:
        out.emit(event.ts, state.sum)
        state.sum = 0
    else:
        state.sum += slow(event.value)


def slow_count(w, t, out):
    w[0].count += slow(t.x)


def slow_map(t, out):
    out.emit(slow(t.x))


def slow_item(key, value, out):
    out.emit(value.ts, slow(value.x))


VALUE = memory_limit.VALUE.fields
COUNTING = memory_limit.distinct(Window(advance=10, size=10)).operators[0]
QUERY = Query(name="slow", operators=(replace(COUNTING, name="slow", update=slow_count),))
PIPELINE = Pipeline(
    name="slow",
    record="value",
    event=VALUE,
    stages=(
        stateless(
            name="slow", output=np.dtype([("ts", np.int64), ("x", np.int64)]), apply=slow_map
        ),
    ),
)

NUMBERS = U(None, memory_limit.NUMBERS)


def slow_flow():
    flow = Flow("slow", markers=10)
    items = OpStateless(name="slow", reads=NUMBERS, gives=NUMBERS, on_item=slow_item)
    return flow.gives(flow.sort(flow.add(items, flow.source("value", VALUE))))


def sums(events):
    program = workload("event_window").program
    summing = replace(program.states[0], update=slow_sum)
    ts = np.arange(events)
    last = (1, ts[-1:], {"value": ts[-1:]})
    data = input_of(program.kinds, (0, ts, {"value": ts}), (0, ts, {"value": ts}), last)
    return replace(program, states=(summing,)), data


def values(program, events):
    ts = np.arange(events)
    return program, input_of(("value",), (0, ts, {"x": ts % 100}))


def pairs(rows):
    """Return a join of all with all, in which every pair is a candidate and none matches."""
    subject = workload("scale_join").bound({"ws_ms": 2 * rows})
    ts = np.arange(rows, dtype=np.int64)
    near = np.zeros(rows, dtype=np.int32)
    left = {"x": near, "y": near.astype(np.float32)}
    right = {
        "a": near,
        "b": near.astype(np.float32) + 15,
        "c": near.astype(np.float64),
        "d": near.astype(np.int8),
    }
    return subject.program, input_of(("left", "right"), (0, ts, left), (1, ts, right))


FORMS = {
    "dgs": ("dgs", sums),
    "dgs-as-published": ("dgs", sums),
    "vsn": ("vsn", partial(values, QUERY)),
    "vsn-join": ("vsn", pairs),
    "sn": ("sn", partial(values, QUERY)),
    "vsn-read": ("vsn", partial(values, QUERY)),
    "adhoc": ("adhoc", pairs),
    "1t": ("1t", pairs),
    "indexed": ("indexed", pairs),
    "ordered": ("ordered", partial(values, PIPELINE)),
    "layers-pipeline": ("layers", partial(values, PIPELINE)),
    "layers-query": ("layers", partial(values, QUERY)),
    "layers-join": ("layers", pairs),
    "dataflow": ("dataflow", partial(values, slow_flow())),
}
"""Variant, and what makes its program and input."""
NAMES = [*FORMS, *(f"{name} under a load" for name in FORMS)]


def prepared(name):
    """Return a run of that name, whose threads wait."""
    form, _, loaded = name.partition(" ")
    variant, make = FORMS[form]
    busy = JOINED_ROWS if make is pairs else SLOW_EVENTS
    program, data = make(LOAD_EVENTS if loaded else busy)
    return make_run(
        variant,
        program,
        data,
        workers=1 if variant in ("1t", "indexed") else WORKERS,
        ring_blocks=1 << 10 if loaded else 64,
        load=even_load(data, GAP_NS) if loaded else None,
        **({"downstream": 2} if form.endswith("-read") else {}),
        **({"form": "as-published"} if form.endswith("-as-published") else {}),
    )


def threads():
    return len(list(Path("/proc/self/task").iterdir()))


def run(name, begin):
    """Run it, and say so as soon as the interpreter is free for it: when the run is native."""
    made = prepared(name)
    teller = threading.Thread(
        target=lambda: (begin.wait(), print("running", name, flush=True)), daemon=True
    )
    teller.start()
    begin.set()
    try:
        made.run()
    finally:
        teller.join()


def main():
    faulthandler.register(signal.SIGUSR1)
    # Who is started behind & by a shell without job control ignores it, and so do its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.setswitchinterval(PATIENT_S)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    for name in NAMES:
        prepared(name).close()  # what libraries start, they have started
        before = threads()
        try:
            run(name, threading.Event())
        except KeyboardInterrupt:
            while threads() > before:  # one that was joined is there for a moment
                os.sched_yield()
            print("interrupted", name, flush=True)
        else:
            print("ended", name, flush=True)
    run(NAMES[0], threading.Event())


if __name__ == "__main__":
    main()
