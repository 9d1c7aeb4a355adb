"""Datasets of one workload for the tests of catalogues, and damage to their files."""

import json
import os
from pathlib import Path

import numpy as np

from streamlab.workloads.datasets import manifest
from streamlab.workloads.datasets.catalog import Catalog, Recipe
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.manifest import Content
from streamlab.workloads.datasets.stream_file import write_stream
from streamlab.workloads.model import Alphabet

RECIPE = Recipe(
    workload="event_window", params={"streams": 2}, seed=1, events=9, generator_version=1
)
KINDS = Alphabet(kinds=("value", "barrier"))
DTYPES = {"ts": np.dtype(np.int64), "value": np.dtype(np.int64)}


def stage(folder: Path, values: list[int], source: str = "test") -> Content:
    block = {"ts": np.arange(len(values)), "value": np.array(values, dtype=np.int64)}
    stream = write_stream(folder, "value-0", (0,), DTYPES, iter([block]), KINDS)
    (folder / "value-0.done").unlink()
    return Content(
        workload="event_window",
        alphabet=KINDS,
        streams=(stream,),
        origin={"generator": "test", "params": {}, "seed": 1},
        source=source,
        licence="none",
    )


def publish(catalog: Catalog, values: list[int], source: str = "test") -> Dataset:
    with catalog.staging() as staging:
        folder = staging / "dataset"
        folder.mkdir()
        return catalog.publish(folder, stage(folder, values, source), RECIPE)


def flip(path: Path, bit: int) -> None:
    """Flip one bit of a file; its times stay as they were, as when a disk does it."""
    state = path.stat()
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def edit(folder: Path, change, *, sealed: bool = False) -> None:
    """Change a record; when sealed, with the checksum that belongs to it."""
    path = folder / manifest.NAME
    record = json.loads(path.read_text())
    change(record)
    if sealed:
        record["checksum"] = manifest._checksum(record)
    path.write_text(json.dumps(record))
