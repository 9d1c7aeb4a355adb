"""Writes a small input as a dataset outside any catalogue, without Spark; for tests."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from streamlab.workloads.datasets import manifest
from streamlab.workloads.datasets.arrow import Column
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.sorted_runs import take_rows
from streamlab.workloads.datasets.stream_file import write_stream
from streamlab.workloads.model import Block, Input, type_of

SEED = 7
_ROWS_PER_FILE = 500
"""Small, so that engines read streams of several files."""


def write_dataset(data: Input, workload: str, folder: Path) -> Dataset:
    """Write an input to `folder`, the files of its streams and a manifest; return the dataset."""
    folder.mkdir(parents=True, exist_ok=True)
    streams = []
    for stream in data.streams:
        columns: dict[str, Column] = {"ts": stream.ts}
        if stream.tag is not None:
            columns["tag"] = stream.tag
        columns |= stream.payload
        dtypes = {name: type_of(values) for name, values in columns.items()}
        stored_stream = write_stream(
            folder,
            stream.name,
            stream.kinds,
            dtypes,
            _blocks(columns, len(stream)),
            data.alphabet,
            rows_per_file=_ROWS_PER_FILE,
        )
        for report in folder.glob("*.done"):
            report.unlink()
        heartbeats = tuple(int(value) for value in stream.heartbeats)
        streams.append(replace(stored_stream, heartbeats=heartbeats))
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


def _blocks(columns: Block, rows: int) -> Iterator[Block]:
    for begin in range(0, max(1, rows), _ROWS_PER_FILE):
        chosen = np.arange(begin, min(begin + _ROWS_PER_FILE, rows))
        yield {name: take_rows(column, chosen) for name, column in columns.items()}
