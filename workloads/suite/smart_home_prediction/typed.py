"""Predicts consumption by a typed graph (Data-Trace Types, section 6, figure 5).

The graph is JFM, SORT, LI, Map, SORT, AVG, Predict.

- JFM joins the table of devices (`devices.py`), or takes the type that a reading states if there is no
  table. It retains some types and makes the plug the key.
- LI interpolates one value a second for each plug between two readings. A line over a gap reaches
  into seconds before the last marker, by less than the longest gap.
- AVG has, for each type, the sums of the seconds that lines may still reach. At each marker it
  emits the averages of the seconds that no line can reach any more. With marker period P and
  longest gap G, the marker at m emits the seconds up to m - P - G. Lines may still reach seconds
  from m - G on; the paper does not define their effect. The operators of the handcrafted form know a
  block only at its end, and the extra period P lets them give the same answer. So each type and second
  has exactly one value, and the cut into blocks affects only its time.
- Predict applies the tree of the type (`tree.py`) to the time of day, the load, and the last minute's energy.

Outputs have the time of the marker that emits them, and the second that they are for.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.power_readings.schema import (
    READING,
    SECONDS_A_DAY,
    interpolate_load,
)
from streamlab.workloads.model.dataflow import (
    Dataflow,
    Flow,
    O,
    OpKeyedOrdered,
    OpStateless,
    U,
    of_events,
)
from streamlab.workloads.suite.smart_home_prediction.devices import type_lookup
from streamlab.workloads.suite.smart_home_prediction.minute import MINUTE, remember
from streamlab.workloads.suite.smart_home_prediction.tree import Tree, predictor

EVENT = np.dtype([("plug", np.int32), ("device", np.int16), ("watts", np.int32)])
PLUG_LOAD = np.dtype([("ts", np.int64), ("load_mw", np.int64), ("device", np.int64)])
DEVICE_LOAD = np.dtype([("ts", np.int64), ("load_mw", np.int64)])
AVERAGE = np.dtype([("ts", np.int64), ("second", np.int64), ("load_mw", np.int64)])
PREDICTION = np.dtype(
    [
        ("ts", np.int64),
        ("second", np.int64),
        ("load_mw", np.int64),
        ("minute_mj", np.int64),
        ("next_10_min_j", np.int64),
    ]
)

LAST = np.dtype([("seen", np.int8), ("ts", np.int64), ("load_mw", np.int64)])
"""Whether the plug has a reading, and its last reading."""


def to_device(key: Any, value: Any, out: Any) -> None:
    """Make the type of device the key."""
    out.emit(value.device, value.ts, value.load_mw)


MAP = OpStateless(
    name="Map", reads=U("plug", PLUG_LOAD), gives=U("device", DEVICE_LOAD), on_item=to_device
)


def join_filter_map(device_types: int, table_plugs: int) -> OpStateless:
    """Return JFM, which joins a table of plugs and retains types of devices below a number."""
    type_of = type_lookup(table_plugs)

    def on_item(key: Any, value: Any, out: Any) -> None:
        device = type_of(value.plug, value.device)
        if 0 <= device < device_types:
            out.emit(value.plug, value.ts, value.watts * 1000, device)

    return OpStateless(
        name="JFM", reads=of_events(EVENT), gives=U("plug", PLUG_LOAD), on_item=on_item
    )


def interpolate(longest_gap_s: int) -> OpKeyedOrdered:
    """Return LI, which fills gaps up to a length."""

    def on_item(s: Any, key: Any, value: Any, out: Any) -> None:
        """Emit the loads on the line from the last reading to this one, and begin the next line."""
        seconds = value.ts - s.ts
        if s.seen == 0 or seconds > longest_gap_s:
            out.emit(key, value.ts, value.load_mw, value.device)
        else:
            for i in range(1, seconds + 1):
                load_mw = interpolate_load(s.load_mw, value.load_mw, i, seconds)
                out.emit(key, s.ts + i, load_mw, value.device)
        s.seen = 1
        s.ts = value.ts
        s.load_mw = value.load_mw

    return OpKeyedOrdered(
        name="LI",
        reads=O("plug", PLUG_LOAD),
        gives=O("plug", PLUG_LOAD),
        state=LAST,
        on_item=on_item,
        max_outputs=longest_gap_s,
    )


def average(markers_s: int, longest_gap_s: int) -> OpKeyedOrdered:
    """Return AVG, which emits one value for each second when no line can reach it any more."""
    slots = 2 * markers_s + longest_gap_s
    delay_s = markers_s + longest_gap_s

    def on_item(s: Any, key: Any, value: Any, out: Any) -> None:
        slot = value.ts % slots
        s.sum_mw[slot] += value.load_mw
        s.plugs[slot] += 1

    def on_marker(s: Any, key: Any, m: Any, out: Any) -> None:
        for second in range(m.ts - slots + 1, m.ts - delay_s + 1):
            slot = second % slots
            plugs = s.plugs[slot]
            if plugs > 0:
                out.emit(key, m.ts, second, (2 * s.sum_mw[slot] + plugs) // (2 * plugs))
                s.sum_mw[slot] = 0
                s.plugs[slot] = 0

    return OpKeyedOrdered(
        name="AVG",
        reads=O("device", DEVICE_LOAD),
        gives=O("device", AVERAGE),
        state=np.dtype([("sum_mw", np.int64, (slots,)), ("plugs", np.int64, (slots,))]),
        on_item=on_item,
        on_marker=on_marker,
        max_outputs=markers_s,
    )


def prediction(tree: Tree, depth: int) -> OpKeyedOrdered:
    """Return Predict, which makes at most `depth` comparisons."""
    predict = predictor(tree, depth)

    def on_item(s: Any, key: Any, value: Any, out: Any) -> None:
        remember(s, value.second, value.load_mw)
        joules = predict(key, value.second % SECONDS_A_DAY, value.load_mw, s.minute_mj)
        out.emit(key, value.ts, value.second, value.load_mw, s.minute_mj, joules)

    return OpKeyedOrdered(
        name="Predict",
        reads=O("device", AVERAGE),
        gives=O("device", PREDICTION),
        state=MINUTE,
        on_item=on_item,
    )


def program(
    markers_s: int, longest_gap_s: int, device_types: int, table_plugs: int, tree: Tree, depth: int
) -> Dataflow:
    """Return the graph for these query parameters and a tree."""
    flow = Flow("smart_home_prediction", markers=markers_s)
    readings = flow.source(READING, EVENT)
    loads = flow.add(join_filter_map(device_types, table_plugs), readings)
    filled = flow.add(interpolate(longest_gap_s), flow.sort(loads))
    averages = flow.add(average(markers_s, longest_gap_s), flow.sort(flow.add(MAP, filled)))
    return flow.gives(flow.add(prediction(tree, depth), averages))
