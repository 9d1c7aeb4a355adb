"""A process that runs out of memory in a keyed operator, for the tests: each tuple has a new key.

It has memory for the run's set-up and `SPARE_BYTES` more.
"""

import resource
import sys

import numpy as np
import psutil

from streamlab.engines.errors import OutOfMemoryError
from streamlab.workloads.model import InputType, Operator, Query, Window
from streamlab.workloads.model.dataflow import Flow, OpKeyedUnordered, OpStateless, U
from tests.engines.inputs import input_of
from tests.engines.multicore.native_runs import make_run

SPARE_BYTES = 64 << 20
TUPLES = 8_000_000
"""Of 24 bytes of window table and more each."""
WINDOWS = {
    "one": Window(advance=10, size=10),
    "many": Window(advance=100, size=100_000),
}
"""How many a tuple falls in. Many: memory ends at a table of some bytes; nothing else has any."""
VALUE = InputType(name="value", fields=np.dtype([("x", np.int64)]))


def every_one(t, out):
    out.add(t.x)


def count_up(w, t, out):
    w[0].count += 1


def emit_count(w, out):
    out.emit(w[0].key, w[0].count)


def distinct(window):
    return Query(
        name="distinct",
        operators=(
            Operator(
                name="distinct",
                inputs=(VALUE,),
                window=window,
                output=np.dtype([("ts", np.int64), ("key", np.int64), ("count", np.int64)]),
                state=np.dtype([("count", np.int64)]),
                keys=every_one,
                update=count_up,
                expire=emit_count,
            ),
        ),
    )


NUMBERS = np.dtype([("ts", np.int64), ("x", np.int64)])
COUNT = np.dtype([("count", np.int64)])


def key_by_x(key, value, out):
    out.emit(value.x, value.ts, value.x)


def one(a, key, value):
    a.count = 1


def both(a, b, into):
    into.count = a.count + b.count


def add(s, a):
    s.count += a.count


def show(s, key, m, out):
    out.emit(key, m.ts, s.count)


def flow():
    """Return a graph that counts by key, in one block."""
    keyed = U("key", NUMBERS)
    graph = Flow("distinct", markers=10)
    keys = OpStateless(name="keys", reads=U(None, NUMBERS), gives=keyed, on_item=key_by_x)
    count = OpKeyedUnordered(
        name="distinct",
        reads=keyed,
        gives=keyed,
        aggregate=COUNT,
        state=COUNT,
        take=one,
        combine=both,
        update_state=add,
        on_marker=show,
    )
    return graph.gives(graph.add(count, graph.add(keys, graph.source("value", VALUE.fields))))


def main(variant, windows=""):
    x = np.arange(TUPLES, dtype=np.int64)
    data = input_of(("value",), (0, np.zeros_like(x), {"x": x}))
    program = distinct(WINDOWS[windows]) if windows else flow()
    run = make_run(variant, program, data, workers=2, batch=64)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = psutil.Process().memory_info().vms + SPARE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        run.run()
    except OutOfMemoryError as error:
        print(error)
    else:
        print("ended")
    run.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
