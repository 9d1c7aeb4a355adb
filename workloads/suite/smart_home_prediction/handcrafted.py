"""Predicts consumption by a handwritten query of two operators O+ (`model.operators`): by plug, by device type.

The first operator stores a window's readings by second. Only the least and the greatest reading of
a second matter, so it need not sort. It interpolates only when the window ends: its records have that
time, so earlier records would advance the watermark of the second operator too soon. The second operator
averages and predicts. It has the same windows, and has received all records of a window when the next
window ends.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.power_readings.schema import (
    READING,
    SECONDS_A_DAY,
    interpolate_load,
)
from streamlab.workloads.model.operators.program import (
    SINGLE,
    InputType,
    Operator,
    Query,
    Window,
    keep,
)
from streamlab.workloads.suite.smart_home_prediction.devices import type_lookup
from streamlab.workloads.suite.smart_home_prediction.minute import MINUTE, remember
from streamlab.workloads.suite.smart_home_prediction.tree import Tree, predictor
from streamlab.workloads.suite.smart_home_prediction.typed import EVENT, PREDICTION

FILLED = np.dtype([("device", np.int64), ("second", np.int64), ("load_mw", np.int64)])
OUTPUT = np.dtype(
    [("ts", np.int64), ("device", np.int64)]
    + [(name, PREDICTION[name]) for name in (PREDICTION.names or ())[1:]]
)
LAST_READING = (("seen", np.int8), ("last_ts", np.int64), ("load_mw", np.int64))
"""Whether the plug has a reading, and the reading at which the next line begins."""


def filling(window: Window, longest_gap_s: int, device_types: int, table_plugs: int) -> Operator:
    """Return the operator that fills the gaps between readings of each plug."""
    period = window.size
    type_of = type_lookup(table_plugs)

    def keys(t: Any, out: Any) -> None:
        if 0 <= type_of(t.plug, t.device) < device_types:
            out.add(t.plug)

    def update(w: Any, t: Any, out: Any) -> None:
        """Store the least and the greatest load of the reading's second, with the device of the least."""
        device, load_mw = type_of(t.plug, t.device), t.watts * 1000
        place = t.ts - w[0].left
        if w[0].heard[place] == 0:
            w[0].heard[place] = 1
            w[0].least_mw[place] = load_mw
            w[0].greatest_mw[place] = load_mw
            w[0].device[place] = device
            return
        least = w[0].least_mw[place]
        if load_mw < least or (load_mw == least and device < w[0].device[place]):
            w[0].least_mw[place] = load_mw
            w[0].device[place] = device
        w[0].greatest_mw[place] = max(w[0].greatest_mw[place], load_mw)

    def expire(w: Any, out: Any) -> None:
        """Emit the loads on the lines up to the window's last reading, where the next line begins."""
        s = w[0]
        for place in range(period):
            if s.heard[place] == 0:
                continue
            second, device, least = s.left + place, s.device[place], s.least_mw[place]
            seconds = second - s.last_ts
            if s.seen == 0 or seconds > longest_gap_s:
                out.emit(device, second, least)
            else:
                for i in range(1, seconds + 1):
                    out.emit(device, s.last_ts + i, interpolate_load(s.load_mw, least, i, seconds))
            s.heard[place] = 0
            s.seen = 1
            s.last_ts = second
            s.load_mw = s.greatest_mw[place]

    return Operator(
        name="filling",
        inputs=(InputType(name=READING, fields=EVENT),),
        window=window,
        output=np.dtype([("ts", np.int64), *FILLED.descr]),
        state=np.dtype(
            [
                *LAST_READING,
                ("heard", np.int8, (period,)),
                ("least_mw", np.int64, (period,)),
                ("greatest_mw", np.int64, (period,)),
                ("device", np.int64, (period,)),
            ]
        ),
        keys=keys,
        update=update,
        expire=expire,
        slide=keep,
        max_outputs=period + longest_gap_s,
    )


def predicting(window: Window, longest_gap_s: int, tree: Tree, depth: int) -> Operator:
    """Return the operator that averages and predicts for each type of device."""
    period = window.size
    slots = 2 * period + longest_gap_s
    predict = predictor(tree, depth)

    def keys(t: Any, out: Any) -> None:
        out.add(t.device)

    def update(w: Any, t: Any, out: Any) -> None:
        """Add a plug's load to the sum of its second."""
        slot = t.second % slots
        w[0].sum_mw[slot] += t.load_mw
        w[0].plugs[slot] += 1

    def expire(w: Any, out: Any) -> None:
        """Emit averages and predictions of the seconds that no later line can reach."""
        begin = w[0].left + period - slots + 1
        for second in range(begin, begin + period):
            slot = second % slots
            plugs = w[0].plugs[slot]
            if plugs > 0:
                load_mw = (2 * w[0].sum_mw[slot] + plugs) // (2 * plugs)
                w[0].sum_mw[slot] = 0
                w[0].plugs[slot] = 0
                remember(w[0], second, load_mw)
                minute_mj = w[0].minute_mj
                joules = predict(w[0].key, second % SECONDS_A_DAY, load_mw, minute_mj)
                out.emit(w[0].key, second, load_mw, minute_mj, joules)

    return Operator(
        name="predicting",
        inputs=(InputType(name="filled", fields=FILLED),),
        window=window,
        output=OUTPUT,
        state=np.dtype(
            [("sum_mw", np.int64, (slots,)), ("plugs", np.int64, (slots,)), *MINUTE.descr]
        ),
        keys=keys,
        update=update,
        expire=expire,
        slide=keep,
        max_outputs=period,
    )


def program(
    markers_s: int, longest_gap_s: int, device_types: int, table_plugs: int, tree: Tree, depth: int
) -> Query:
    """Return the query for these query parameters and a tree."""
    window = Window(advance=markers_s, size=markers_s, type=SINGLE)
    return Query(
        name="smart_home_prediction",
        operators=(
            filling(window, longest_gap_s, device_types, table_plugs),
            predicting(window, longest_gap_s, tree, depth),
        ),
    )
