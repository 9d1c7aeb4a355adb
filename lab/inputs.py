"""Finds or makes the datasets that a run needs, before anything is measured."""

from collections.abc import Iterable
from pathlib import Path

from workloads.datasets.build import ensure
from workloads.datasets.catalog import Catalog

from lab.errors import MatrixError
from lab.matrix import WorkloadEntry
from workloads.datasets.dataset import Dataset
from workloads.registry import workload as find_workload

DEFAULT_MASTER = "local[2]"


def check_entries(entries: Iterable[WorkloadEntry]) -> None:
    """Check names and parameters without making anything.

    Raises:
        ModelError: an unknown workload or a bad parameter.
    """
    for entry in entries:
        find_workload(entry.name).params(entry.params)


def find_dataset(
    entry: WorkloadEntry, *, root: Path | None = None, master: str = DEFAULT_MASTER
) -> Dataset:
    """Return the dataset of an entry, generated now if the catalogue lacks it.

    Args:
        entry: what the matrix asks for.
        root: the catalogue; None is the default one.
        master: Spark master for generating.

    Raises:
        ModelError: an unknown workload or a bad parameter.
        DatasetError: it cannot be made, or no dataset has this id.
        MatrixError: the dataset belongs to another workload.
    """
    workload = find_workload(entry.name)
    if entry.dataset is None:
        params = workload.params(entry.params)
        return ensure(workload, params, entry.events, entry.seed, root=root, master=master)
    dataset = Catalog(root).get(entry.dataset)
    if dataset.workload != entry.name:
        raise MatrixError(
            f"dataset {entry.dataset} is input of {dataset.workload}, not of {entry.name}; "
            "see `lab data list`"
        )
    return dataset
