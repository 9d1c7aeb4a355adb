"""What a trial says of an elastic operator: figures of its row, and the list of its changes.

The list stands beside the series as Parquet, one row a `streamlab.engines.protocol.Reconfiguration`, with its
fields as columns.
"""

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.engines.protocol import Elasticity, Reconfiguration
from streamlab.results.table import table_of

Result = dict[str, Any]


def columns(found: Elasticity | None) -> Result:
    """Return the columns of the result; none where the number of instances cannot change."""
    if found is None:
        return {}
    took = np.sort([change.duration_ns for change in found.reconfigurations])
    worked = found.load_cov[~np.isnan(found.load_cov)]
    result: Result = {"reconfiguration_count": len(took)}
    if len(took):
        result |= {
            "reconfiguration_p50_ns": _rank(took, 50),
            "reconfiguration_p99_ns": _rank(took, 99),
            "reconfiguration_max_ns": int(took[-1]),
        }
    if len(found.instances):
        result["instances_min"] = int(found.instances.min())
        result["instances_max"] = int(found.instances.max())
    if found.comparisons is not None:
        result["comparisons"] = int(found.comparisons.sum())
    if len(worked):
        result["load_cov"] = float(np.median(worked))
    return result


def write_reconfigurations(found: Elasticity, path: Path) -> None:
    """Write the changes, in order, whole or not at all; an empty table when there were none."""
    import pyarrow as pa  # heavy: not while the clock runs
    import pyarrow.parquet as pq

    schema = pa.schema([(field.name, pa.int64()) for field in fields(Reconfiguration)])
    rows = [asdict(change) for change in found.reconfigurations]
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), partial, write_page_checksum=True)
    partial.replace(path)


def read_reconfigurations(content: bytes) -> tuple[Reconfiguration, ...]:
    """Return the changes in a file that `write_reconfigurations` wrote."""
    return tuple(Reconfiguration(**row) for row in table_of(content).to_pylist())


def _rank(ascending: np.ndarray[Any, np.dtype[Any]], percent: int) -> int:
    """Return the nearest-rank percentile: a value that occurred."""
    return int(ascending[-(-len(ascending) * percent // 100) - 1])
