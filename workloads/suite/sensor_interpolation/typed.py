"""Averages loads by a typed graph (Data-Trace Types, section 2, example 4.1 and table 2).

The graph is Map, SORT, LI, AVG, with stages as in the paper, keyed by plug. Map drops faults and
all fields but the load. LI interpolates one value a second. AVG emits the average of all values so
far at each marker. SORT allows several instances of Map.

A value belongs to the block of the reading that ends its line. A marker's average includes the line
to the last reading before the marker, but not the line to the next reading.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.power_readings.schema import READING, interpolate_load
from streamlab.workloads.model.dataflow import (
    Dataflow,
    Flow,
    O,
    OpKeyedOrdered,
    OpKeyedUnordered,
    OpStateless,
    U,
    of_events,
)

EVENT = np.dtype([("plug", np.int32), ("watts", np.int32)])
LOAD = np.dtype([("ts", np.int64), ("load_mw", np.int64)])
AVERAGE = np.dtype([("ts", np.int64), ("average_mw", np.int64), ("seconds", np.int64)])

LAST = np.dtype([("seen", np.int8), ("ts", np.int64), ("load_mw", np.int64)])
"""Whether the plug has a reading, and its last reading."""

SUM = np.dtype([("sum_mw", np.int64), ("seconds", np.int64)])


def take(a: Any, key: Any, value: Any) -> None:
    """Count one value."""
    a.sum_mw = value.load_mw
    a.seconds = 1


def combine(x: Any, y: Any, into: Any) -> None:
    """Add two sums."""
    into.sum_mw = x.sum_mw + y.sum_mw
    into.seconds = x.seconds + y.seconds


def update_state(s: Any, agg: Any) -> None:
    """Add a block to the sums so far."""
    s.sum_mw += agg.sum_mw
    s.seconds += agg.seconds


def emit_average(s: Any, key: Any, m: Any, out: Any) -> None:
    """Emit the average, rounded to the nearest milliwatt, halves up."""
    out.emit(key, m.ts, (2 * s.sum_mw + s.seconds) // (2 * s.seconds), s.seconds)


AVERAGE_SO_FAR = OpKeyedUnordered(
    name="AVG",
    reads=U("plug", LOAD),
    gives=U("plug", AVERAGE),
    aggregate=SUM,
    state=SUM,
    take=take,
    combine=combine,
    update_state=update_state,
    on_marker=emit_average,
)


def program(markers_s: int, longest_gap_s: int, most_watts: int) -> Dataflow:
    """Return the graph for a period of markers, a longest gap and a greatest reading."""

    def project(key: Any, value: Any, out: Any) -> None:
        if value.watts <= most_watts:
            out.emit(value.plug, value.ts, value.watts * 1000)

    def interpolate(s: Any, key: Any, value: Any, out: Any) -> None:
        seconds = value.ts - s.ts
        if s.seen == 0 or seconds > longest_gap_s:
            out.emit(key, value.ts, value.load_mw)
        else:
            for i in range(1, seconds + 1):
                out.emit(key, s.ts + i, interpolate_load(s.load_mw, value.load_mw, i, seconds))
        s.seen = 1
        s.ts = value.ts
        s.load_mw = value.load_mw

    flow = Flow("sensor_interpolation", markers=markers_s)
    readings = flow.source(READING, EVENT)
    mapped = flow.add(
        OpStateless(name="Map", reads=of_events(EVENT), gives=U("plug", LOAD), on_item=project),
        readings,
    )
    filled = flow.add(
        OpKeyedOrdered(
            name="LI",
            reads=O("plug", LOAD),
            gives=O("plug", LOAD),
            state=LAST,
            on_item=interpolate,
            max_outputs=longest_gap_s,
        ),
        flow.sort(mapped),
    )
    return flow.gives(flow.add(AVERAGE_SO_FAR, filled))
