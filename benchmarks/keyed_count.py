"""A workload that counts the tuples of each key in every tumbling window.

This is the simplest keyed operator, so that curves by workers show the cost of the operator alone.
Each stream has one tuple per tick; all keys are equally frequent.
"""

from typing import Any

import numpy as np

from streamlab.workloads.datasets.cadence import ticks
from streamlab.workloads.datasets.random import draw
from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import (
    Columns,
    Input,
    InputType,
    Operator,
    OutputType,
    Parameter,
    Params,
    Query,
    StreamSpec,
    Window,
    Workload,
)

WINDOW = 100_000
"""In ticks. Two streams put 200,000 tuples in a window: 0.2 per key with a million keys, 200 with a thousand."""

FIELDS = np.dtype([("id", np.int64)])
OUTPUT = np.dtype([("ts", np.int64), ("key", np.int64), ("count", np.int64)])

PARAMETERS = {
    "streams": Parameter(default=2, help="number of streams", minimum=1, maximum=1024),
    "keys": Parameter(default=1_000, help="number of keys", minimum=1, maximum=2**31),
}


def key(t: Any, out: Any) -> None:
    """Output the tuple's key."""
    out.add(t.id)


def count(w: Any, t: Any, out: Any) -> None:
    """Count the tuple."""
    w[0].count += 1


def forward(w: Any, out: Any) -> None:
    """Forward the key and its count."""
    out.emit(w[0].key, w[0].count)


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams, of equal length."""
    rows_per_stream = -(-events // int(params["streams"]))
    return tuple(
        StreamSpec(name=f"tuples-{index}", kinds=("tuple",), fields=FIELDS, events=rows_per_stream)
        for index in range(int(params["streams"]))
    )


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream."""
    drawn = draw(seed, index, 0, begin, end) % np.uint64(int(params["keys"]))
    return {"ts": ticks(begin, end), "id": drawn.astype(np.int64)}


def oracle(data: Input) -> Columns:
    """Return (ts, key, count) by window, then key; ts is the window's right boundary.

    Windows that are still open at the end of the input have no output.
    """
    events = total_order(data, FIELDS)
    window, ids = events.ts // WINDOW, events.payload["id"]
    order = np.lexsort((ids, window))
    pairs = np.stack([window[order], ids[order]])
    begins = np.flatnonzero(np.any(np.diff(pairs, axis=1, prepend=-1), axis=0))
    counts = np.diff(begins, append=pairs.shape[1])
    right = (pairs[0, begins] + 1) * WINDOW
    end = int(events.ts[-1]) if data.until_ts is None else data.until_ts - 1
    ended = right <= end
    return {"ts": right[ended], "key": pairs[1, begins][ended], "count": counts[ended]}


WORKLOAD = Workload(
    name="keyed_count",
    title="Tuples of each key in every tumbling window",
    paper="no paper: the least that a keyed operator costs",
    program=Query(
        name="keyed_count",
        operators=(
            Operator(
                name="count",
                inputs=(InputType(name="tuple", fields=FIELDS),),
                window=Window(advance=WINDOW, size=WINDOW),
                output=OUTPUT,
                state=np.dtype([("count", np.int64)]),
                keys=key,
                update=count,
                expire=forward,
            ),
        ),
    ),
    output=OutputType(
        kinds=("count",), depends=lambda a, b: a.key == b.key, key_field="key", sorted=True
    ),
    parameters=PARAMETERS,
    keys=lambda params: 1,  # of the alphabet; the operator's own keys are ids
    streams=streams,
    generate=generate,
    oracle=oracle,
)
