"""A process that runs out of memory in a keyed operator, for the tests: each tuple has a new key.

It has memory for the run's set-up and `SPARE_BYTES` more.
"""

import resource
import sys

import numpy as np
import psutil

from engines.errors import OutOfMemoryError
from engines.multicore.adapter import FAMILIES
from engines.multicore.run.settings import RunSettings
from workloads.model import Alphabet, Input, InputType, Operator, Query, Stream, Window

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


def main(variant, windows):
    x = np.arange(TUPLES, dtype=np.int64)
    stream = Stream(name="value", kinds=(0,), ts=np.zeros_like(x), payload={"x": x})
    data = Input(alphabet=Alphabet(kinds=("value",)), streams=(stream,))
    family = FAMILIES[variant]
    settings = RunSettings(workers=2, batch=64)
    run = family.run(distinct(WINDOWS[windows]), data, settings, family.own())
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
