"""Sums of rides at each station in windows: a query to flush, its inputs, and its windows by pandas."""

import numpy as np
import pandas as pd

from streamlab.workloads.datasets.tables.constructors import arrays
from streamlab.workloads.model import InputType, Operator, Query, Window
from streamlab.workloads.model.operators.program import FLUSH
from streamlab.workloads.user_workload import workload
from tests.engines.inputs import input_of

RIDE = InputType(name="ride", fields=np.dtype([("station", np.int32), ("minutes", np.int64)]))
SUMS = np.dtype([("ts", np.int64), ("station", np.int64), ("rides", np.int64), ("sum", np.int64)])
TOTALS = np.dtype([("rides", np.int64), ("sum", np.int64)])


def station_of(t, out):
    out.add(t.station)


def add_ride(w, t, out):
    w[0].rides += 1
    w[0].sum += t.minutes


def emit_sum(w, out):
    out.emit(w[0].key, w[0].rides, w[0].sum)


def keep_totals(w):
    w[0].rides += 0


def rides(window, at_end=FLUSH, **functions):
    operator = Operator(
        name="rides",
        inputs=(RIDE,),
        window=window,
        output=SUMS,
        state=TOTALS,
        keys=station_of,
        update=add_ride,
        expire=emit_sum,
        buckets=7,
        **functions,
    )
    return Query(name="rides", operators=(operator,), at_end=at_end)


def some_rides(events=200, streams=2, seed=1):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(streams):
        columns = {
            "station": rng.integers(0, 9, events).astype(np.int32),
            "minutes": rng.integers(-5, 50, events),
        }
        made.append((0, np.sort(rng.integers(-300, 300, events)), columns))
    return input_of(("ride",), *made)


def rides_workload(size):
    (stream,) = some_rides(streams=1).streams
    table = arrays({"ts": stream.ts, **stream.payload}, ts="ts")
    return workload(rides(Window(advance=10, size=size)), input=table, name="rides")


def frame_of(data):
    streams = [pd.DataFrame({"ts": s.ts, **s.payload}) for s in data.streams]
    return pd.concat(streams, ignore_index=True)


def by_pandas(data, advance, size):
    """Every window that holds a ride, also those after the last one; written without the model."""
    frame = frame_of(data)
    first = frame.ts // advance * advance
    copies = [
        frame.assign(left=first - n * advance)[first - n * advance + size > frame.ts]
        for n in range(-(-size // advance))
    ]
    groups = pd.concat(copies).groupby(["left", "station"]).minutes.agg(["size", "sum"])
    groups = groups.reset_index()
    return sorted(
        zip(groups.left + size, groups.station, groups["size"], groups["sum"], strict=True)
    )


def rows_of(answer):
    return sorted(zip(*(column.tolist() for column in answer.values()), strict=True))


WORKLOAD = rides_workload(25)
