"""The expected predictions: the loads of all seconds, then the tree, level by level."""

import numpy as np

from streamlab.workloads.inputs.power_readings.gap_filling import known_until, readings
from streamlab.workloads.inputs.power_readings.schema import SECONDS_A_DAY
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.suite.smart_home_prediction.loads import Ints, Loads, loads
from streamlab.workloads.suite.smart_home_prediction.tree import Tree


def oracle(
    data: Input, markers_s: int, longest_gap_s: int, device_types: int, tree: Tree, depth: int
) -> Columns:
    """Return the output's columns by marker, then device, then second."""
    given = readings(data)
    device = np.asarray(given["device"]).astype(np.int64)
    kept = np.flatnonzero((device >= 0) & (device < device_types))
    found = loads({name: column[kept] for name, column in given.items()}, longest_gap_s)
    marker = -(-(found.second + longest_gap_s) // markers_s) * markers_s + markers_s
    columns = {
        "ts": marker,
        "device": found.device,
        "second": found.second,
        "load_mw": found.load_mw,
        "minute_mj": found.minute_mj,
        "next_10_min_j": predicted(found, tree, depth),
    }
    known = np.empty(0, np.int64)
    if len(kept):
        known = np.flatnonzero(marker <= known_until(data, np.asarray(given["ts"])))
    order = known[np.lexsort((found.second[known], found.device[known], marker[known]))]
    return {name: column[order] for name, column in columns.items()}


def predicted(found: Loads, tree: Tree, depth: int) -> Ints:
    """Return what the tree says, cut at a depth."""
    features = np.stack([found.second % SECONDS_A_DAY, found.load_mw, found.minute_mj])
    node = np.zeros(len(found.second), np.int64)
    rows = np.arange(len(node))
    for _ in range(depth):
        feature = tree.feature[node]
        up_to = features[np.maximum(feature, 0), rows] <= tree.threshold[node]
        node = np.where(feature < 0, node, np.where(up_to, tree.left[node], tree.right[node]))
    result: Ints = tree.next_10_min_j[node]
    return result
