"""The expected output of pos_rep: the records of one type."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.linear_road.schema import FIELDS, REPORT
from streamlab.workloads.model import Columns, Input


def oracle(data: Input) -> Columns:
    """Return all position reports in total order, columns as in `OUTPUT`."""
    records = total_order(data, FIELDS)
    columns = {"ts": records.ts, **records.payload}
    kept = np.equal(columns["type"], REPORT)
    return {name: values[kept] for name, values in columns.items()}
