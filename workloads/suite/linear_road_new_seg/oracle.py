"""Computes the expected output of new_seg, by comparing a vehicle's successive reports."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.linear_road.schema import FIELDS, REPORT
from streamlab.workloads.model import Columns, Input

SEGMENT = ("vid", "xway", "dir", "seg")
"""Reports with equal values in all of these are from one vehicle in one segment."""


def oracle(data: Input) -> Columns:
    """Return the reports of vehicles that enter a segment, in total order, with the columns of `OUTPUT`."""
    records = total_order(data, FIELDS)
    columns = {"ts": records.ts, **records.payload}
    reports = np.flatnonzero(np.equal(columns["type"], REPORT))
    # A stable sort, so that the reports of a vehicle stay in order.
    by_vehicle = reports[np.argsort(columns["vid"][reports], kind="stable")]
    entered = np.ones(len(by_vehicle), dtype=np.bool_)
    if len(by_vehicle):
        place = [columns[name][by_vehicle] for name in SEGMENT]
        entered[1:] = np.any([part[1:] != part[:-1] for part in place], axis=0)
    rows = np.sort(by_vehicle[entered])
    return {name: values[rows] for name, values in columns.items()}
