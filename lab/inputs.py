"""Finds or makes the datasets that a run needs, before anything is measured."""

from collections.abc import Iterable

from lab.errors import MatrixError
from lab.matrix import WorkloadEntry
from workloads.datasets.catalog import Catalog
from workloads.datasets.dataset import Dataset
from workloads.datasets.progress import Progress
from workloads.registry import workload as find_workload


def check_entries(entries: Iterable[WorkloadEntry]) -> None:
    """Check names and parameters without making anything.

    Raises:
        ModelError: an unknown workload or a bad parameter.
    """
    for entry in entries:
        find_workload(entry.name).params(entry.params)


def find_dataset(entry: WorkloadEntry, *, master: str, progress: Progress | None = None) -> Dataset:
    """Return the dataset of an entry, generated now if the catalogue lacks it.

    Args:
        entry: what the matrix asks for.
        master: Spark master for generating.
        progress: is told how generating gets on.

    Raises:
        ModelError: an unknown workload or a bad parameter.
        DatasetError: it cannot be made, or no dataset has this id.
        MatrixError: the dataset belongs to another workload.
    """
    workload = find_workload(entry.name)
    if entry.dataset is None:
        from workloads.datasets.build import ensure

        return ensure(
            workload, entry.params, entry.events, entry.seed, master=master, progress=progress
        )
    dataset = Catalog.default().get(entry.dataset)
    if dataset.workload != entry.name:
        raise MatrixError(
            f"dataset {entry.dataset} is input of {dataset.workload}, not of {entry.name}; "
            "see `lab data list`"
        )
    return dataset
