"""Writes a small input as a dataset outside any catalogue, without Spark; for tests."""

from dataclasses import replace
from pathlib import Path

from streamlab.workloads.datasets import manifest
from streamlab.workloads.datasets.arrow import Column
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.stream_file import write_stream
from streamlab.workloads.model import Input, type_of

SEED = 7


def write_dataset(data: Input, workload: str, folder: Path) -> Dataset:
    """Write an input to `folder`, one Parquet file per stream and a manifest; return the dataset."""
    folder.mkdir(parents=True, exist_ok=True)
    streams = []
    for stream in data.streams:
        columns: dict[str, Column] = {"ts": stream.ts}
        if stream.tag is not None:
            columns["tag"] = stream.tag
        columns |= stream.payload
        dtypes = {name: type_of(values) for name, values in columns.items()}
        written = write_stream(folder, stream.name, stream.kinds, dtypes, [columns], data.alphabet)
        (folder / f"{stream.name}.done").unlink(missing_ok=True)
        heartbeats = tuple(int(value) for value in stream.heartbeats)
        streams.append(replace(written, heartbeats=heartbeats))
    content = manifest.Content(
        workload=workload,
        alphabet=data.alphabet,
        streams=tuple(streams),
        origin={"generator": "streamlab.engines.conformance", "seed": SEED},
        source="made by the conformance suite",
        licence="CC0-1.0",
    )
    manifest.write(folder, content)
    return manifest.read(folder)
