"""Computes the expected tolls, by sums over all earlier entries and exits of a segment."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.linear_road.schema import FIELDS, REPORT
from streamlab.workloads.model import Columns, Input

_PLACE = ("xway", "dir", "seg")
_FREE = 50


def oracle(data: Input) -> Columns:
    """Return a row for each vehicle that enters a segment; columns as `OUTPUT`."""
    records = total_order(data, FIELDS)
    reports = np.flatnonzero(np.equal(records.payload["type"], REPORT))
    reports = reports[np.argsort(records.payload["vid"][reports], kind="stable")]
    vid = records.payload["vid"][reports]
    places = np.stack([records.payload[name][reports].astype(np.int64) for name in _PLACE])
    has_previous = np.zeros(len(reports), dtype=np.bool_)
    has_previous[1:] = vid[1:] == vid[:-1]
    stays = has_previous.copy()
    stays[1:] &= (places[:, 1:] == places[:, :-1]).all(axis=0)
    enters = np.flatnonzero(~stays)
    leaves = np.flatnonzero(has_previous & ~stays)  # leaves the previous report's segment

    # Sorts all changes by segment and time; a running sum gives the count before each time.
    changed = np.concatenate((enters, leaves - 1))
    at = records.ts[reports[np.concatenate((enters, leaves))]]
    change = np.repeat([1, -1], [len(enters), len(leaves)])
    keys = (at, places[2, changed], places[1, changed], places[0, changed])
    order = np.lexsort(keys)
    sums = np.concatenate(([0], np.cumsum(change[order])))
    sorted_keys = np.stack([key[order] for key in keys])
    first_of_time = np.ones(len(order), dtype=np.bool_)
    first_of_time[1:] = (sorted_keys[:, 1:] != sorted_keys[:, :-1]).any(axis=0)
    first_of_place = np.ones(len(order), dtype=np.bool_)
    first_of_place[1:] = (sorted_keys[1:, 1:] != sorted_keys[1:, :-1]).any(axis=0)
    begin = np.maximum.accumulate(np.where(first_of_time, np.arange(len(order)), 0))
    place = np.maximum.accumulate(np.where(first_of_place, np.arange(len(order)), 0))
    before = np.empty(len(order), dtype=np.int64)
    before[order] = sums[begin] - sums[place]

    vehicles = before[: len(enters)]
    out = np.argsort(reports[enters], kind="stable")  # back in total order
    rows = reports[enters][out]
    return {
        "ts": records.ts[rows],
        "vid": records.payload["vid"][rows],
        **{name: records.payload[name][rows] for name in _PLACE},
        "vehicles": vehicles[out].astype(np.int32),
        "toll": 2 * np.maximum(vehicles[out] - _FREE, 0) ** 2,
    }
