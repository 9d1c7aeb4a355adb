"""Finds or makes the datasets that a run needs, before anything is measured."""

from lab.errors import MatrixError
from lab.matrix import Matrix, WorkloadEntry
from workloads.datasets.catalog import Catalog
from workloads.datasets.dataset import Dataset
from workloads.datasets.progress import Progress
from workloads.model import ModelError, Workload
from workloads.registry import workload as find_workload


def check_entries(matrix: Matrix) -> None:
    """Check the workloads' names, parameters and query parameters without making anything.

    Raises:
        MatrixError: an unknown workload or a bad parameter.
    """
    for number, entry in enumerate(matrix.workloads, 1):
        try:
            bound(entry).params(entry.params)
        except ModelError as error:
            raise MatrixError(f"{matrix.source}: [[workload]] {number}: {error}") from error


def bound(entry: WorkloadEntry) -> Workload:
    """Return the workload of an entry for its query parameters.

    Raises:
        ModelError: an unknown workload or a bad query parameter.
    """
    return find_workload(entry.name).bound(entry.query)


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
    if dataset.workload != workload.input_name:
        takes = "" if workload.input_name == entry.name else f", which takes {workload.input_name}"
        raise MatrixError(
            f"dataset {entry.dataset} is input of {dataset.workload}, not of {entry.name}{takes}; "
            "see `lab data list`"
        )
    return dataset
