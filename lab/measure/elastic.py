"""Summarizes a trial's elasticity as columns of its row, and stores its reconfigurations.

The reconfigurations are a Parquet file next to the series: one row for each
`streamlab.engines.protocol.Reconfiguration`, with its fields as columns. Files of earlier versions
lack the column `active`.
"""

from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import pyarrow as pa

from streamlab.engines.protocol import Elasticity, Reconfiguration
from streamlab.lab.measure.series import write_table
from streamlab.results.table import table_of


def columns(elasticity: Elasticity | None) -> dict[str, object]:
    """Return the columns of a trial; empty if its operator is not elastic."""
    if elasticity is None:
        return {}
    durations_ns = [change.duration_ns for change in elasticity.reconfigurations]
    load_cov = elasticity.load_cov[~np.isnan(elasticity.load_cov)]
    result: dict[str, object] = {"reconfiguration_count": len(durations_ns)}
    if durations_ns:
        for name, percent in (("p50", 50), ("p99", 99), ("max", 100)):
            nearest = np.percentile(durations_ns, percent, method="inverted_cdf")
            result[f"reconfiguration_{name}_ns"] = int(nearest)
    if len(elasticity.instances):
        result["instances_min"] = int(elasticity.instances.min())
        result["instances_max"] = int(elasticity.instances.max())
    if elasticity.comparisons is not None:
        result["comparisons"] = int(elasticity.comparisons.sum())
    if len(load_cov):
        result["load_cov"] = float(np.median(load_cov))
    return result


def write_reconfigurations(elasticity: Elasticity, path: Path) -> None:
    """Write the reconfigurations in order, atomically; the table may be empty."""
    lists = {"active"}
    schema = pa.schema(
        [
            (field.name, pa.list_(pa.int64()) if field.name in lists else pa.int64())
            for field in fields(Reconfiguration)
        ]
    )
    rows = [asdict(change) for change in elasticity.reconfigurations]
    write_table(pa.Table.from_pylist(rows, schema=schema), path)


def read_reconfigurations(content: bytes) -> tuple[Reconfiguration, ...]:
    """Return the reconfigurations from the bytes of a file by `write_reconfigurations`."""
    return tuple(
        Reconfiguration(**{**row, "active": tuple(row.get("active", ()))})
        for row in table_of(content).to_pylist()
    )
