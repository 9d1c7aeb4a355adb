"""Computes the toll of a vehicle that enters a segment: the query of Viper's figure 1.

A1 compares a position report with the vehicle's earlier reports. It adds whether the vehicle enters the segment,
whether this is its first report there in this minute, and whether it has stopped. B finds accidents, and F forwards
each accident to the segments before it. A2 stores the statistics of each segment by minute. M computes the toll and
notifies the vehicle that entered.

The toll is Linear Road's (Arasu and others 2004, section 3.4). Vehicles that enter a segment in minute m pay
2 (n - 50)^2 for the n vehicles that were there in minute m - 1. They pay nothing if n is at most 50, or if the mean
speed of the minutes m - 5 to m - 1 is at least 40 mph. They pay nothing either if minute m - 1 had an accident in the
segment or in the four segments after it. Vehicles on the exit lane get no toll. A vehicle counts as stopped from its
fourth report in a row at one position.

Two choices let reports of one time commute, so that operators may process them in any order. The mean speed is the mean
of all reports, rounded down; the benchmark takes a mean of means. A report of a stopped vehicle reveals an accident if
another vehicle was stopped there in the previous reporting period. A segment is an expressway, a direction and a mile.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.linear_road.schema import (
    EXIT_LANE,
    FIELDS,
    PERIOD_MS,
    RECORD,
    REPORT,
    SEGMENTS,
)
from streamlab.workloads.model import Pipeline, partitioned, stateless

FREE = 50
"""Number of vehicles in a segment up to which the toll is 0."""
FAST_MPH = 40
"""Mean speed from which the toll is 0."""
STOPPED = 4
"""Reports in a row at one position of a vehicle that has stopped."""
MINUTE_MS = 60_000
MINUTES = 5
"""Number of minutes over which the mean speed is taken."""
REACH = 5
"""Number of segments that are free of toll because of an accident: its own and the four before it."""
SLOTS = MINUTES + 1
"""Number of minutes in a segment's statistics: the current minute, and those of the mean speed."""

SEEN = np.dtype(
    [
        *(("seen", np.int8), ("xway", np.int16), ("dir", np.int8), ("seg", np.int8)),
        *(("pos", np.int32), ("reports", np.int32), ("minute", np.int64)),
    ]
)
"""A vehicle's last report, and the number of reports in a row at its position."""

STANDING = np.dtype(
    [
        *(("seen", np.int8), ("period", np.int64), ("low", np.int32), ("high", np.int32)),
        *(("before", np.int8), ("low_before", np.int32), ("high_before", np.int32)),
    ]
)
"""Least and greatest vehicle that stands at a position in the current period, and in the previous period."""

PLACE = (("xway", np.int16), ("dir", np.int8), ("seg", np.int8))
ENRICHED = np.dtype(
    [
        *(("ts", np.int64), ("vid", np.int32), *PLACE, ("pos", np.int32), ("speed", np.int16)),
        *(("exits", np.int8), ("enters", np.int8), ("first", np.int8), ("stopped", np.int8)),
    ]
)
CHECKED = np.dtype(
    [
        *(("ts", np.int64), ("vid", np.int32), *PLACE, ("speed", np.int16)),
        *(("exits", np.int8), ("enters", np.int8), ("first", np.int8), ("accident", np.int8)),
    ]
)
"""A report of a vehicle, or, after F, news of an accident without a report (`news`)."""
SENT = np.dtype([*CHECKED.descr, ("news", np.int8)])

STATISTICS = np.dtype(
    [
        ("minute", np.int64, (SLOTS,)),
        ("vehicles", np.int32, (SLOTS,)),
        ("reports", np.int64, (SLOTS,)),
        ("speed", np.int64, (SLOTS,)),
        ("accident", np.int8, (SLOTS,)),
    ]
)
"""Statistics of a segment in its last minutes, minute m at m modulo SLOTS."""
COUNTED = np.dtype(
    [
        *(("ts", np.int64), ("vid", np.int32), *PLACE),
        *(("vehicles", np.int32), ("speed", np.int16), ("accident", np.int8)),
    ]
)
OUTPUT = np.dtype([*COUNTED.descr, ("toll", np.int64)])


def vehicle(t: Any) -> Any:
    """Return the vehicle of a record."""
    return t.vid


def segment(t: Any) -> Any:
    """Return the segment of a record as a number; 512 exceeds all differences of int8."""
    return (np.int64(t.xway) * 512 + t.dir) * 512 + t.seg


def spot(t: Any) -> Any:
    """Return the position of a stopped vehicle as a number; other vehicles have separate negative numbers."""
    if t.stopped == 0:
        return np.int64(-1) - t.vid
    return ((np.int64(t.xway) * 512 + t.dir) << 32) + t.pos


def enrich(s: Any, t: Any, out: Any) -> None:
    """A1: compare a report with the vehicle's last report, and remember it."""
    if t.type != REPORT:
        return
    minute = t.ts // MINUTE_MS
    same_road = s.seen != 0 and s.xway == t.xway and s.dir == t.dir
    enters = not (same_road and s.seg == t.seg)
    s.reports = s.reports + 1 if same_road and s.pos == t.pos else 1
    first = enters or s.minute != minute
    stopped = s.reports >= STOPPED
    out.emit(
        t.vid, t.xway, t.dir, t.seg, t.pos, t.speed, t.lane == EXIT_LANE, enters, first, stopped
    )
    s.seen = 1
    s.xway = t.xway
    s.dir = t.dir
    s.seg = t.seg
    s.pos = t.pos
    s.minute = minute


def find_accident(s: Any, t: Any, out: Any) -> None:
    """B: determine whether another vehicle stood at a stopped vehicle's position in the previous period."""
    accident = False
    if t.stopped != 0:
        period = t.ts // PERIOD_MS
        if s.seen == 0 or period != s.period:
            s.before = s.seen != 0 and s.period == period - 1
            s.seen = 1
            s.low_before = s.low
            s.high_before = s.high
            s.period = period
            s.low = t.vid
            s.high = t.vid
        s.low = min(s.low, t.vid)
        s.high = max(s.high, t.vid)
        accident = s.before != 0 and (s.low_before != t.vid or s.high_before != t.vid)
    out.emit(t.vid, t.xway, t.dir, t.seg, t.speed, t.exits, t.enters, t.first, accident)


def hand_on(t: Any, out: Any) -> None:
    """F: forward a report, and the news of an accident to the segments before it."""
    out.emit(t.vid, t.xway, t.dir, t.seg, t.speed, t.exits, t.enters, t.first, t.accident, 0)
    if t.accident != 0:
        step = -1 if t.dir == 0 else 1
        for i in range(1, REACH):
            seg = t.seg + step * i
            if 0 <= seg < SEGMENTS:
                out.emit(t.vid, t.xway, t.dir, seg, 0, 0, 0, 0, 1, 1)


def count(s: Any, t: Any, out: Any) -> None:
    """A2: update the segment's statistics; emit those of the previous minutes when a vehicle enters."""
    minute = t.ts // MINUTE_MS
    current_slot = minute % SLOTS
    if s.minute[current_slot] != minute:
        s.minute[current_slot] = minute
        s.vehicles[current_slot] = 0
        s.reports[current_slot] = 0
        s.speed[current_slot] = 0
        s.accident[current_slot] = 0
    if t.accident != 0:
        s.accident[current_slot] = 1
    if t.news != 0:
        return
    s.vehicles[current_slot] += t.first
    s.reports[current_slot] += 1
    s.speed[current_slot] += t.speed
    if t.enters == 0 or t.exits != 0:
        return
    reports = np.int64(0)
    speed = np.int64(0)
    for minutes_back in range(1, SLOTS):
        slot = (minute - minutes_back) % SLOTS
        if s.minute[slot] == minute - minutes_back:
            reports += s.reports[slot]
            speed += s.speed[slot]
    last_slot = (minute - 1) % SLOTS
    is_present = s.minute[last_slot] == minute - 1
    vehicles = s.vehicles[last_slot] if is_present else 0
    accident = s.accident[last_slot] if is_present else 0
    mean = speed // reports if reports > 0 else 0
    out.emit(t.vid, t.xway, t.dir, t.seg, vehicles, mean, accident)


def toll(t: Any, out: Any) -> None:
    """M: compute the toll from the statistics."""
    beyond = np.int64(t.vehicles) - FREE
    if beyond < 0 or t.speed >= FAST_MPH or t.accident != 0:
        beyond = np.int64(0)
    out.emit(t.vid, t.xway, t.dir, t.seg, t.vehicles, t.speed, t.accident, 2 * beyond * beyond)


PROGRAM = Pipeline(
    name="linear_road_toll",
    record=RECORD,
    event=FIELDS,
    stages=(
        partitioned(name="enrich", output=ENRICHED, key=vehicle, state=SEEN, apply=enrich),
        partitioned(
            name="find_accident",
            output=CHECKED,
            key=spot,
            state=STANDING,
            apply=find_accident,
            ties_commute=True,
        ),
        stateless(name="hand_on", output=SENT, apply=hand_on, max_outputs=REACH),
        partitioned(
            name="count",
            output=COUNTED,
            key=segment,
            state=STATISTICS,
            apply=count,
            ties_commute=True,
        ),
        stateless(name="toll", output=OUTPUT, apply=toll),
    ),
)
