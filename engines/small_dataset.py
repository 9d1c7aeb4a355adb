"""Writes a small input as a dataset outside any catalogue, without Spark; for tests."""

import hashlib
from pathlib import Path

import numpy as np

from workloads.datasets.arrow import Column, arrow_array
from workloads.datasets.dataset import Dataset, DatasetStream
from workloads.model import Input, ListColumn, type_of

SEED = 7


def write_dataset(data: Input, workload: str, folder: Path) -> Dataset:
    """Write an input as one Parquet file a stream in `folder`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(f"{workload} {data.alphabet}".encode())
    streams = []
    for stream in data.streams:
        columns: dict[str, Column] = {"ts": stream.ts}
        if stream.tag is not None:
            columns["tag"] = stream.tag
        columns |= stream.payload
        digest.update(f"{stream.name} {stream.kinds}".encode())
        for name, values in columns.items():
            digest.update(f"{name} {type_of(values).name}".encode())
            if isinstance(values, ListColumn):
                digest.update(values.packed().offsets.tobytes())
                values = values.packed().values
            digest.update(np.ascontiguousarray(values).tobytes())
        digest.update(stream.heartbeats.tobytes())
        path = (folder / f"{stream.name}.parquet").absolute()
        pq.write_table(pa.table({name: arrow_array(part) for name, part in columns.items()}), path)
        rows = len(stream)
        streams.append(
            DatasetStream(
                name=stream.name,
                kinds=stream.kinds,
                path=path,
                rows=rows,
                ts_min=int(stream.ts[0]) if rows else 0,
                ts_max=int(stream.ts[-1]) if rows else 0,
                columns=tuple((name, type_of(values).name) for name, values in columns.items()),
                heartbeats=tuple(int(value) for value in stream.heartbeats),
            )
        )
    return Dataset(
        id=digest.hexdigest(),
        workload=workload,
        alphabet=data.alphabet,
        streams=tuple(streams),
        origin={"generator": "engines.conformance", "seed": SEED},
        source="made by the conformance suite",
        licence="CC0-1.0",
    )
