"""A workload with its own oracle: finds the busiest minute so far among generated requests.

The pipeline counts requests by minute and forwards a minute whenever its count exceeds all earlier
ones. The oracle computes the same with sorted arrays, so it finds errors in the functions below:
break one of them, and `lab run` reports `wrong_output`.
"""

from typing import Any

import numpy as np

from streamlab import workload
from streamlab.workloads.model import Columns, Input, Pipeline, stateful, stateless

MINUTE_MS = 60_000
REQUEST = np.dtype([("status", np.int16)])
MINUTE = np.dtype([("ts", np.int64), ("minute", np.int64)])
BUSIEST = np.dtype([("ts", np.int64), ("minute", np.int64), ("requests", np.int64)])
COUNTS = np.dtype([("minute", np.int64), ("requests", np.int64), ("most", np.int64)])


def succeeded(request: Any, out: Any) -> None:
    """Forward the minute of a successful request."""
    if request.status < 500:
        out.emit(request.ts // MINUTE_MS)


def count(state: Any, request: Any, out: Any) -> None:
    """Count a request; forward its minute if it is the busiest so far."""
    if request.minute != state.minute:
        state.minute = request.minute
        state.requests = 0
    state.requests += 1
    if state.requests > state.most:
        state.most = state.requests
        out.emit(request.minute, state.requests)


PROGRAM = Pipeline(
    name="busiest",
    record="request",
    event=REQUEST,
    stages=(
        stateless(name="succeeded", output=MINUTE, apply=succeeded),
        stateful(name="count", output=BUSIEST, state=COUNTS, apply=count),
    ),
)


def oracle(data: Input) -> Columns:
    """Return (ts, minute, requests) for every request that makes its minute the busiest."""
    ts = np.concatenate([stream.ts for stream in data.streams])
    status = np.concatenate([stream.payload["status"] for stream in data.streams])
    ts = np.sort(ts[status < 500], kind="stable")
    minute = ts // MINUTE_MS
    begins = np.flatnonzero(np.diff(minute, prepend=minute[:1] - 1))
    nth = np.arange(len(ts)) - np.repeat(begins, np.diff(begins, append=len(ts))) + 1
    most = np.maximum.accumulate(nth)
    record = np.flatnonzero(np.diff(most, prepend=0))
    return {"ts": ts[record], "minute": minute[record], "requests": nth[record]}


def requests(events: int, seed: int) -> Columns:
    """Return requests at a rising rate, of which one in fifty fails."""
    chance = np.random.default_rng(seed)
    gaps = chance.integers(0, 2000, events) // (1 + np.arange(events) // 1000)
    return {"ts": np.cumsum(gaps), "status": np.where(chance.random(events) < 0.02, 500, 200)}


WORKLOAD = workload(PROGRAM, input=requests, oracle=oracle)
