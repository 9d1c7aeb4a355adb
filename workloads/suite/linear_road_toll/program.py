"""Computes the toll of a vehicle that enters a segment: the query of Viper's figure 1.

A1 adds the segment of the vehicle's previous report to a position report. F drops reports from the
same segment; from others it makes two records, for the segments that the vehicle left and entered.
A2 counts the vehicles in each segment. M computes the toll from the count and notifies the vehicle
that entered.

The paper leaves the rest open. Here a change of segment counts after its time, so reports of one
time commute, and A2 may process them in any order. The toll is Linear Road's, 2 (n - 50)^2 above 50
vehicles, without its conditions on speed and accidents. A segment is an expressway, a direction and
a mile.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.linear_road.schema import FIELDS, RECORD, REPORT
from streamlab.workloads.model import Pipeline, partitioned, stateless

FREE = 50
"""Number of vehicles in a segment up to which the toll is 0."""

SEEN = np.dtype([("seen", np.int8), ("xway", np.int16), ("dir", np.int8), ("seg", np.int8)])
COUNT = np.dtype([("ts", np.int64), ("before", np.int32), ("now", np.int32)])
"""Vehicles in the segment before time `ts`, and including its changes so far."""

ENRICHED = np.dtype(
    [
        ("ts", np.int64),
        ("vid", np.int32),
        ("xway", np.int16),
        ("dir", np.int8),
        ("seg", np.int8),
        ("known", np.int8),
        ("last_xway", np.int16),
        ("last_dir", np.int8),
        ("last_seg", np.int8),
    ]
)
"""A report, with the segment of the vehicle's previous report if there was one (`known`)."""

CHANGE = np.dtype(
    [
        ("ts", np.int64),
        ("vid", np.int32),
        ("xway", np.int16),
        ("dir", np.int8),
        ("seg", np.int8),
        ("change", np.int8),
    ]
)
"""A vehicle enters a segment (1) or leaves it (-1)."""

COUNTED = np.dtype([*CHANGE.descr[:5], ("vehicles", np.int32)])
OUTPUT = np.dtype([*COUNTED.descr, ("toll", np.int64)])


def vehicle(t: Any) -> Any:
    """Return the vehicle of a record."""
    return t.vid


def segment(t: Any) -> Any:
    """Return the segment of a record as a number; 512 exceeds all differences of int8."""
    return (np.int64(t.xway) * 512 + t.dir) * 512 + t.seg


def enrich(s: Any, t: Any, out: Any) -> None:
    """A1: add the previous segment to a report, and remember the new one."""
    if t.type != REPORT:
        return
    out.emit(t.vid, t.xway, t.dir, t.seg, s.seen, s.xway, s.dir, s.seg)
    s.seen = 1
    s.xway = t.xway
    s.dir = t.dir
    s.seg = t.seg


def changed(t: Any, out: Any) -> None:
    """F: drop reports from the same segment; emit both segments of the others."""
    if t.known != 0:
        if t.seg == t.last_seg and t.dir == t.last_dir and t.xway == t.last_xway:
            return
        out.emit(t.vid, t.last_xway, t.last_dir, t.last_seg, -1)
    out.emit(t.vid, t.xway, t.dir, t.seg, 1)


def count(s: Any, t: Any, out: Any) -> None:
    """A2: count the segment's vehicles; emit the count when a vehicle enters."""
    if t.ts != s.ts:
        s.ts = t.ts
        s.before = s.now
    s.now += t.change
    if t.change > 0:
        out.emit(t.vid, t.xway, t.dir, t.seg, s.before)


def toll(t: Any, out: Any) -> None:
    """M: compute the toll of the count."""
    beyond = np.int64(t.vehicles) - FREE
    if beyond < 0:
        beyond = np.int64(0)
    out.emit(t.vid, t.xway, t.dir, t.seg, t.vehicles, 2 * beyond * beyond)


PROGRAM = Pipeline(
    name="linear_road_toll",
    record=RECORD,
    event=FIELDS,
    stages=(
        partitioned(name="enrich", output=ENRICHED, key=vehicle, state=SEEN, apply=enrich),
        stateless(name="changed", output=CHANGE, apply=changed, max_outputs=2),
        partitioned(
            name="count", output=COUNTED, key=segment, state=COUNT, apply=count, ties_commute=True
        ),
        stateless(name="toll", output=OUTPUT, apply=toll),
    ),
)
