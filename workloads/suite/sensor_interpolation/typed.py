"""Averages loads by a typed graph (Data-Trace Types, section 2, example 4.1 and table 2).

The graph is Map, SORT, LI, AVG, the stages of the paper, keyed by plug. Map drops faults and all fields
but the load. LI interpolates one value a second. AVG emits the average of all values so far at each
marker. SORT allows several instances of Map. With a table of places Map is joinFilterMap, which joins
the table and retains some kinds of places. With `maximum` the last stage is maxOfAvgPerID, which emits
the greatest of the blocks' averages so far.

A value belongs to the block of the reading that ends its line. A marker's average includes the line
to the last reading before the marker, but not the line to the next reading.
"""

from dataclasses import replace
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
from streamlab.workloads.suite.sensor_interpolation.places import selection

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


GREATEST = np.dtype([("average_mw", np.int64), ("seconds", np.int64)])
"""The greatest average of a block; the number of values so far."""


def update_greatest(s: Any, agg: Any) -> None:
    """Compare the average of a block with values to the greatest so far."""
    if agg.seconds > 0:
        average = (2 * agg.sum_mw + agg.seconds) // (2 * agg.seconds)
        if s.seconds == 0 or average > s.average_mw:
            s.average_mw = average
        s.seconds += agg.seconds


def emit_greatest(s: Any, key: Any, m: Any, out: Any) -> None:
    """Emit the greatest average."""
    out.emit(key, m.ts, s.average_mw, s.seconds)


MAX_OF_AVERAGES = replace(
    AVERAGE_SO_FAR,
    name="MaxOfAvg",
    state=GREATEST,
    update_state=update_greatest,
    on_marker=emit_greatest,
)


def program(
    markers_s: int,
    longest_gap_s: int,
    most_watts: int,
    table_plugs: int,
    place_kinds: int,
    maximum: bool,
) -> Dataflow:
    """Return the graph for these query parameters; with `maximum` it emits the greatest average of a block."""
    selected = selection(most_watts, table_plugs, place_kinds)

    def project(key: Any, value: Any, out: Any) -> None:
        if selected(value.plug, value.watts):
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
        OpStateless(
            name="JFM" if table_plugs else "Map",
            reads=of_events(EVENT),
            gives=U("plug", LOAD),
            on_item=project,
        ),
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
    return flow.gives(flow.add(MAX_OF_AVERAGES if maximum else AVERAGE_SO_FAR, filled))
