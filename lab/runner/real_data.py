"""Finds raw files of real data for the demo, and imports each file once."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.imports.importer import import_files
from streamlab.workloads.datasets.imports.kind import ImportOptions
from streamlab.workloads.datasets.imports.registry import import_kind
from streamlab.workloads.datasets.progress import Progress

STREAMS = 2
"""Number of streams of views or edits: enough for two workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealInput:
    """A raw file of real data.

    Attributes:
        file: path below the folder of real data.
        kind: kind of import.
        workload: name of the workload that reads the file.
        label: label of the workload in the matrix.
        sort: whether the file must be sorted by time.
    """

    file: str
    kind: str
    workload: str
    label: str
    sort: bool = False


REAL_INPUTS = (
    RealInput(
        file="pageviews/nasa_19950801.tsv.xz",
        kind="access-log",
        workload="page_view_join",
        label="nasa",
    ),
    # This file needs sorting: its first two lines have times in another hour than the following lines.
    RealInput(
        file="pageviews/wikiticker-2015-09-12-sampled.json.gz",
        kind="wikipedia-edits",
        workload="keyed_counter",
        label="wikipedia",
        sort=True,
    ),
)


def find_real_input(folder: Path) -> tuple[RealInput, ...]:
    """Return the real inputs whose files are in `folder`; may be empty."""
    return tuple(real for real in REAL_INPUTS if (folder / real.file).is_file())


def import_real_input(
    real: RealInput, folder: Path, *, master: str, progress: Progress | None = None
) -> Dataset:
    """Return the dataset of a raw file; imports the file unless the catalogue has the dataset."""
    path = folder / real.file
    dataset = _find_imported(real, path)
    if dataset is not None:
        return dataset
    options = ImportOptions(files=(path,), streams=STREAMS, sort=real.sort)
    return import_files(import_kind(real.kind), options, master=master, progress=progress)


def as_tables(real: RealInput, dataset: Dataset) -> str:
    """Return matrix tables that run an imported input on engines that start quickly.

    The plan is chosen by cost: for a small input that synchronizes often, one worker may be best.
    """
    key = f"{real.workload}@{real.label}"
    return (
        f'\n[[workload]]\nname = "{real.workload}"\n'
        f'dataset = "{dataset.id}"\nlabel = "{real.label}"\n'
        f'\n[[engine]]\nname = "multicore"\nvariants = ["dgs"]\nworkers = [1, 2]\n'
        'options = { optimizer = "cost" }\n'
        f'workloads = ["{key}"]\n'
        f'\n[[engine]]\nname = "reference"\nworkloads = ["{key}"]\n'
    )


def _find_imported(real: RealInput, path: Path) -> Dataset | None:
    """Return the catalogue's dataset of this file, by checksum; None if missing."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    for dataset in Catalog.default().list().datasets:
        origin = dataset.origin
        files = origin.get("files")
        if origin.get("import") != real.kind or not isinstance(files, list) or len(files) != 1:
            continue
        if files[0].get("sha256") == digest and origin.get("streams") == STREAMS:
            return dataset
    return None
