"""Finds real input for the demo in a folder of raw files, and imports it once."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.progress import Progress

# Views or edits are split among so many streams, so that two workers have something to share.
STREAMS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RealInput:
    """A raw file that the demo knows, and the import that makes it input of a workload.

    Attributes:
        file: below the folder of real data.
        kind: of import.
        workload: whose input it gives.
        label: of the workload in the matrix.
        sort: whether the file is known not to be sorted throughout.
    """

    file: str
    kind: str
    workload: str
    label: str
    sort: bool = False


KNOWN = (
    RealInput(
        file="pageviews/nasa_19950801.tsv.xz",
        kind="access-log",
        workload="page_view_join",
        label="nasa",
    ),
    # Its first two lines carry a time of another hour than their neighbours.
    RealInput(
        file="pageviews/wikiticker-2015-09-12-sampled.json.gz",
        kind="wikipedia-edits",
        workload="keyed_counter",
        label="wikipedia",
        sort=True,
    ),
)


def find_real_input(folder: Path) -> tuple[RealInput, ...]:
    """Return the known inputs whose files are in `folder`; may be none."""
    return tuple(known for known in KNOWN if (folder / known.file).is_file())


def import_real_input(
    known: RealInput, folder: Path, *, master: str, progress: Progress | None = None
) -> Dataset:
    """Return the dataset of a known file, from the catalogue when it was imported before.

    Raises:
        DatasetError: the file cannot be imported.
    """
    path = folder / known.file
    found = _imported(known, path)
    if found is not None:
        return found
    from streamlab.workloads.datasets.imports.importer import import_files
    from streamlab.workloads.datasets.imports.kind import ImportOptions
    from streamlab.workloads.datasets.imports.registry import import_kind

    options = ImportOptions(files=(path,), streams=STREAMS, sort=known.sort)
    return import_files(import_kind(known.kind), options, master=master, progress=progress)


def as_tables(known: RealInput, dataset: Dataset) -> str:
    """Return the matrix tables that run an imported input on the engines that start quickly.

    Such an input may be small and synchronize often: the plan is one by cost, which may find that
    one of the workers offered is enough, and says so.
    """
    key = f"{known.workload}@{known.label}"
    return (
        f'\n[[workload]]\nname = "{known.workload}"\n'
        f'dataset = "{dataset.id}"\nlabel = "{known.label}"\n'
        f'\n[[engine]]\nname = "multicore"\nvariants = ["dgs"]\nworkers = [1, 2]\n'
        'options = { optimizer = "cost" }\n'
        f'workloads = ["{key}"]\n'
        f'\n[[engine]]\nname = "reference"\nworkloads = ["{key}"]\n'
    )


def _imported(known: RealInput, path: Path) -> Dataset | None:
    """Return what the catalogue has of this very file, so that it need not be imported again."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    for dataset in Catalog.default().list().datasets:
        origin = dataset.origin
        files = origin.get("files")
        if origin.get("import") != known.kind or not isinstance(files, list) or len(files) != 1:
            continue
        if files[0].get("sha256") == digest and origin.get("streams") == STREAMS:
            return dataset
    return None
