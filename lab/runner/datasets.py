"""Finds or makes the datasets that a run needs, before anything is measured."""

from collections.abc import Callable, Sequence

from streamlab.lab.errors import MatrixError
from streamlab.lab.matrix.matrix import DEFAULT_EVENTS, Matrix, WorkloadEntry
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.integrity import verify
from streamlab.workloads.datasets.limits import limit_violation
from streamlab.workloads.datasets.progress import Progress
from streamlab.workloads.datasets.tables import Table
from streamlab.workloads.model import ModelError, StreamSpec, Workload


def check_entries(matrix: Matrix) -> None:
    """Check the workloads' names, parameters and query parameters without making anything.

    Raises:
        MatrixError: an unknown workload or a bad parameter.
    """
    for number, entry in enumerate(matrix.workloads, 1):
        try:
            _check_size(entry)
        except ModelError as error:
            raise MatrixError(f"{matrix.source}: [[workload]] {number}: {error}") from error


def _check_size(entry: WorkloadEntry) -> None:
    workload = entry.bound()
    workload.params(entry.params)
    if isinstance(workload.source, Table) and entry.events != DEFAULT_EVENTS:
        raise ModelError(
            f"key events: {entry.events} is given, but the input of {entry.name} is a table, which "
            "is taken whole; leave it out"
        )


def check_inputs(entries: Sequence[WorkloadEntry]) -> None:
    """Check that all input is there that is not generated, before any other is, which takes long.

    Looks for datasets and files, and reads neither: their content is checked by `find_dataset`.

    Raises:
        DatasetError: no dataset has an id, or a table has no file.
        MatrixError: a dataset is input of another workload.
    """
    for entry in entries:
        workload = entry.workload()
        if entry.dataset is not None:
            _named(workload, entry, entry.dataset)
        elif isinstance(workload.source, Table):
            workload.source.source.files()


def check_room_for(entries: Sequence[WorkloadEntry]) -> None:
    """Check that the disk has room for all input that is yet to be generated, before any is.

    Raises:
        ModelError: an unknown workload or a bad parameter.
        DatasetError: it has not; names both sizes.
    """
    from streamlab.workloads.datasets.disk_space import check_room

    specs: list[StreamSpec] = []
    for entry in entries:
        if not is_made(entry):
            workload = entry.workload()
            specs += workload.streams(workload.params(entry.params), entry.events)
    check_room(specs, Catalog.default().root)


def is_made(entry: WorkloadEntry) -> bool:
    """Tell whether the input of an entry is in the catalogue, or is read and not generated.

    Raises:
        ModelError: an unknown workload or a bad parameter.
    """
    from streamlab.workloads.datasets.builder import recipe_of

    workload = entry.workload()
    if entry.dataset is not None or workload.source is not None:
        return True
    params = workload.params(entry.params)
    return Catalog.default().has(recipe_of(workload, params, entry.events, entry.seed))


def find_dataset(
    entry: WorkloadEntry,
    *,
    master: str,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Dataset:
    """Return the dataset of an entry, generated now if the catalogue lacks it.

    All of its files are compared with their checksums; its streams carry stamps that say so, by
    which trials need not do it again. Generated input that is damaged is generated again.

    Args:
        entry: what the matrix asks for.
        master: Spark master for generating.
        progress: is told how generating gets on.
        say: is told that input is damaged, when it can be made again.

    Raises:
        ModelError: an unknown workload or a bad parameter.
        DatasetError: it cannot be made, no dataset has this id, or the one that has is damaged.
        MatrixError: the dataset belongs to another workload, or to another of its name, or does not
            fit the query parameters, or has values beyond a limit of the workload.
    """
    workload = entry.workload()
    if entry.dataset is None:
        dataset = _generated(workload, entry, master, progress, say)
    else:
        dataset = verify(_named(workload, entry, entry.dataset))
    bound = entry.bound()
    why = bound.unfit(bound.query_params, dataset) if bound.unfit else ""
    why = why or limit_violation(bound, dataset)
    if why:
        raise MatrixError(f"workload {entry.key}: {why}")
    return dataset


def _named(workload: Workload, entry: WorkloadEntry, dataset_id: str) -> Dataset:
    """Return the dataset of an id, when it is input of the workload."""
    dataset = Catalog.default().get(dataset_id)
    if dataset.workload != workload.input_name:
        takes = "" if workload.input_name == entry.name else f", which takes {workload.input_name}"
        raise MatrixError(
            f"dataset {entry.dataset} is input of {dataset.workload}, not of {entry.name}{takes}; "
            "see `lab data list`"
        )
    if dataset.alphabet.kinds != workload.program.kinds:
        raise MatrixError(
            f"dataset {entry.dataset} has the kinds {', '.join(dataset.alphabet.kinds)}, workload "
            f"{entry.name} reads {', '.join(workload.program.kinds)}: it is input of another "
            "workload of that name; see `lab data show`"
        )
    return dataset


def _generated(
    workload: Workload,
    entry: WorkloadEntry,
    master: str,
    progress: Progress | None,
    say: Callable[[str], None],
) -> Dataset:
    from streamlab.workloads.datasets.builder import ensure, recipe_of

    if workload.source is not None:
        made = ensure(workload, entry.params, entry.events, entry.seed, progress=progress)
        return verify(made)
    catalog = Catalog.default()
    recipe = recipe_of(workload, workload.params(entry.params), entry.events, entry.seed)
    found = catalog.find(recipe)
    if found is not None:
        return found
    damage = catalog.damage(recipe)
    if damage is not None:
        say(f"the input of {entry.key} is generated again: {damage[1]}")
    made = ensure(
        workload, entry.params, entry.events, entry.seed, master=master, progress=progress
    )
    if damage is not None and made.id != damage[0]:
        raise DatasetError(
            f"the input of {entry.key} was damaged and generated again; now its id is {made.id}, "
            f"and was {damage[0]}: its generator has changed, so that older results are of other "
            "input; run again to use the new one"
        )
    return verify(made)
