"""Averages loads by a handwritten operator O+ (`model.operators`), whose windows advance from marker to marker.

It interpolates and averages without sorting. Only the least and the greatest reading of a second
matter, so the state holds these two until the next second or the end of the window.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.power_readings.schema import READING, interpolate_load
from streamlab.workloads.model.operators.program import (
    SINGLE,
    InputType,
    Operator,
    Query,
    Window,
    keep,
)
from streamlab.workloads.suite.sensor_interpolation.places import selection
from streamlab.workloads.suite.sensor_interpolation.typed import EVENT

OUTPUT = np.dtype(
    [("ts", np.int64), ("plug", np.int64), ("average_mw", np.int64), ("seconds", np.int64)]
)
STATE = np.dtype(
    [
        ("seen", np.int8),
        ("last_ts", np.int64),
        ("load_mw", np.int64),
        ("waiting", np.int8),
        ("this_ts", np.int64),
        ("least_mw", np.int64),
        ("greatest_mw", np.int64),
        ("sum_mw", np.int64),
        ("seconds", np.int64),
        ("greatest_average_mw", np.int64),
        ("seconds_before", np.int64),
    ]
)
"""The reading at which the next line begins, the readings of the current second, and sums of the earlier values.

For the maximum, the sums are of the current window, and the last two fields are of the windows before it.
"""


def program(
    markers_s: int,
    longest_gap_s: int,
    most_watts: int,
    table_plugs: int,
    place_kinds: int,
    maximum: bool,
) -> Query:
    """Return the query for these query parameters; with `maximum` it emits the greatest average of a window."""
    selected = selection(most_watts, table_plugs, place_kinds)

    def keys(t: Any, out: Any) -> None:
        if selected(t.plug, t.watts):
            out.add(t.plug)

    def settle(s: Any) -> None:
        """Interpolate up to the current second, and begin the next line there."""
        seconds = s.this_ts - s.last_ts
        if s.seen == 0 or seconds > longest_gap_s:
            s.sum_mw += s.least_mw
            s.seconds += 1
        else:
            for i in range(1, seconds + 1):
                s.sum_mw += interpolate_load(s.load_mw, s.least_mw, i, seconds)
            s.seconds += seconds
        s.seen = 1
        s.last_ts = s.this_ts
        s.load_mw = s.greatest_mw
        s.waiting = 0

    def update(w: Any, t: Any, out: Any) -> None:
        load_mw = t.watts * 1000
        if w[0].waiting == 1:
            if t.ts == w[0].this_ts:
                w[0].least_mw = min(w[0].least_mw, load_mw)
                w[0].greatest_mw = max(w[0].greatest_mw, load_mw)
                return
            settle(w[0])
        w[0].waiting = 1
        w[0].this_ts = t.ts
        w[0].least_mw = load_mw
        w[0].greatest_mw = load_mw

    def expire(w: Any, out: Any) -> None:
        if w[0].waiting == 1:
            settle(w[0])
        average = (2 * w[0].sum_mw + w[0].seconds) // (2 * w[0].seconds)
        out.emit(w[0].key, average, w[0].seconds)

    def expire_maximum(w: Any, out: Any) -> None:
        s = w[0]
        if s.waiting == 1:
            settle(s)
        if s.seconds > 0:
            average = (2 * s.sum_mw + s.seconds) // (2 * s.seconds)
            if s.seconds_before == 0 or average > s.greatest_average_mw:
                s.greatest_average_mw = average
            s.seconds_before += s.seconds
            s.sum_mw = 0
            s.seconds = 0
        out.emit(s.key, s.greatest_average_mw, s.seconds_before)

    averaging = Operator(
        name="averaging",
        inputs=(InputType(name=READING, fields=EVENT),),
        window=Window(advance=markers_s, size=markers_s, type=SINGLE),
        output=OUTPUT,
        state=STATE,
        keys=keys,
        update=update,
        expire=expire_maximum if maximum else expire,
        slide=keep,
    )
    return Query(name="sensor_interpolation", operators=(averaging,))
