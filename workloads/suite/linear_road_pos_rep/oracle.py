"""Computes the expected output of pos_rep: all records of one type."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.linear_road.schema import FIELDS, REPORT
from streamlab.workloads.model import Columns, Input


def oracle(data: Input) -> Columns:
    """Return all position reports in total order, with the columns of `OUTPUT`."""
    records = total_order(data, FIELDS)
    columns = {"ts": records.ts, **records.payload}
    is_report = np.equal(columns["type"], REPORT)
    return {name: values[is_report] for name, values in columns.items()}
