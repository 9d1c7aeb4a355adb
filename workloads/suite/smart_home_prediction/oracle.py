"""Computes the expected predictions: every second's load, then the regression tree on it."""

import numpy as np

from streamlab.workloads.datasets.total_order import final_watermark
from streamlab.workloads.inputs.power_readings.gap_filling import readings
from streamlab.workloads.inputs.power_readings.schema import DEVICE_TYPES, SECONDS_A_DAY
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.suite.smart_home_prediction.loads import Ints, Loads, loads
from streamlab.workloads.suite.smart_home_prediction.tree import Tree


def oracle(
    data: Input,
    markers_s: int,
    longest_gap_s: int,
    device_types: int,
    table_plugs: int,
    tree: Tree,
    depth: int,
) -> Columns:
    """Return (ts, device, second, loads, prediction) by marker, then device, then second."""
    events = readings(data)
    device = np.asarray(events["device"]).astype(np.int64)
    if table_plugs:
        plug = np.asarray(events["plug"]).astype(np.int64)
        device = np.where((plug >= 0) & (plug < table_plugs), plug % DEVICE_TYPES, -1)
        events = {**events, "device": device}
    retained = np.flatnonzero((device >= 0) & (device < device_types))
    seconds = loads({name: column[retained] for name, column in events.items()}, longest_gap_s)
    marker = -(-(seconds.second + longest_gap_s) // markers_s) * markers_s + markers_s
    columns = {
        "ts": marker,
        "device": seconds.device,
        "second": seconds.second,
        "load_mw": seconds.load_mw,
        "minute_mj": seconds.minute_mj,
        "next_10_min_j": apply_tree(seconds, tree, depth),
    }
    final = np.empty(0, np.int64)
    if len(retained):
        final = np.flatnonzero(marker <= final_watermark(data, np.asarray(events["ts"])))
    order = final[np.lexsort((seconds.second[final], seconds.device[final], marker[final]))]
    return {name: column[order] for name, column in columns.items()}


def apply_tree(seconds: Loads, tree: Tree, depth: int) -> Ints:
    """Return the predictions of the trees, truncated at a depth, in joules."""
    features = np.stack([seconds.second % SECONDS_A_DAY, seconds.load_mw, seconds.minute_mj])
    node = np.zeros(len(seconds.second), np.int64)
    for device in np.unique(tree.device):
        node[seconds.device == device] = np.flatnonzero(tree.device == device)[0]
    rows = np.arange(len(node))
    for _ in range(depth):
        feature = tree.feature[node]
        up_to = features[np.maximum(feature, 0), rows] <= tree.threshold[node]
        node = np.where(feature < 0, node, np.where(up_to, tree.left[node], tree.right[node]))
    result: Ints = tree.next_10_min_j[node]
    return result
