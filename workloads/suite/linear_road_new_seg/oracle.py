"""The expected output of new_seg: each report beside the one before it of the same vehicle."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.linear_road.schema import FIELDS, REPORT
from streamlab.workloads.model import Columns, Input

WHERE = ("vid", "xway", "dir", "seg")
"""Two reports that differ in none of these are of one vehicle in one segment."""


def oracle(data: Input) -> Columns:
    """Return the reports of vehicles that enter a segment, in total order, as in `OUTPUT`."""
    records = total_order(data, FIELDS)
    columns = {"ts": records.ts, **records.payload}
    reports = np.flatnonzero(np.equal(columns["type"], REPORT))
    # Stable: the reports of a vehicle stay in order.
    by_vehicle = reports[np.argsort(columns["vid"][reports], kind="stable")]
    entered = np.ones(len(by_vehicle), dtype=np.bool_)
    if len(by_vehicle):
        place = [columns[name][by_vehicle] for name in WHERE]
        entered[1:] = np.any([part[1:] != part[:-1] for part in place], axis=0)
    kept = np.sort(by_vehicle[entered])
    return {name: values[kept] for name, values in columns.items()}
