"""Finds or generates the datasets of a run, before its first trial."""

from collections.abc import Callable, Sequence

from streamlab.lab.errors import MatrixError
from streamlab.lab.matrix.matrix import DEFAULT_EVENTS, Matrix, WorkloadEntry
from streamlab.workloads.datasets.builder import check_room, ensure, recipe_of
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.integrity import verify
from streamlab.workloads.datasets.limits import limit_violation
from streamlab.workloads.datasets.progress import Progress
from streamlab.workloads.datasets.tables import Table, TableSet
from streamlab.workloads.declarative.windows import clock_note
from streamlab.workloads.model import ModelError, StreamSpec, Workload


def check_entries(matrix: Matrix) -> None:
    """Check names, parameters and query parameters of a matrix's workloads; generates nothing.

    Raises:
        MatrixError: a workload is unknown or a parameter is bad.
    """
    for number, entry in enumerate(matrix.workloads, 1):
        place = f"{matrix.source}: [[workload]] {number}"
        try:
            workload = entry.bound()
            workload.params(entry.params)
        except ModelError as error:
            raise MatrixError(f"{place}: {error}") from error
        if isinstance(workload.source, Table | TableSet) and entry.events != DEFAULT_EVENTS:
            raise MatrixError(
                f"{place}: key events is {entry.events}, but the input of {entry.name} is a table, "
                "which is always read completely; remove the key"
            )


def check_inputs(entries: Sequence[WorkloadEntry]) -> None:
    """Check that all input that cannot be generated exists; `find_dataset` checks the content.

    Call this before generating other input, because generating takes long.

    Raises:
        DatasetError: a dataset, or the file of a table, is missing.
        MatrixError: a dataset is the input of another workload.
    """
    for entry in entries:
        workload = entry.workload()
        if entry.dataset is not None:
            _dataset_by_id(workload, entry, entry.dataset)
        elif isinstance(workload.source, Table | TableSet):
            workload.source.files()


def check_room_for(entries: Sequence[WorkloadEntry]) -> None:
    """Check that the disk has room for the input that must be generated."""
    specs: list[StreamSpec] = []
    for entry in entries:
        if not is_made(entry):
            workload = entry.workload()
            specs += workload.streams(workload.params(entry.params), entry.events)
    check_room(specs, Catalog.default().root)


def is_made(entry: WorkloadEntry) -> bool:
    """Return whether the input of an entry exists, so that the lab need not generate it."""
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
    """Return the dataset of an entry; generates it if it is missing or damaged in the catalogue.

    Compares all files with their checksums.
    The streams carry stamps of this check, so that trials need not repeat it.

    `say` receives `clock_note`, and a message when damaged input is generated again. `master` is the Spark master for
    generating.

    Raises:
        ModelError: a workload is unknown or a parameter is bad.
        DatasetError: the dataset cannot be generated, does not exist or is damaged.
        MatrixError: the dataset is the input of another workload, does not fit the query parameters, or has
            values beyond a limit of the workload.
    """
    workload = entry.workload()
    if (note := clock_note(workload)) is not None:
        say(note)
    if entry.dataset is None:
        dataset = _generate(workload, entry, master, progress, say)
    else:
        dataset = verify(_dataset_by_id(workload, entry, entry.dataset))
    bound = entry.bound()
    problem = bound.unfit(bound.query_params, dataset) if bound.unfit else ""
    problem = problem or limit_violation(bound, dataset)
    if problem:
        raise MatrixError(f"workload {entry.key}: {problem}")
    return dataset


def _dataset_by_id(workload: Workload, entry: WorkloadEntry, dataset_id: str) -> Dataset:
    """Return the dataset with an id, after checking that it is the workload's input."""
    dataset = Catalog.default().get(dataset_id)
    if dataset.workload != workload.input_name:
        takes = "" if workload.input_name == entry.name else f", which takes {workload.input_name}"
        raise MatrixError(
            f"dataset {entry.dataset} is the input of {dataset.workload}, not of {entry.name}{takes}; "
            "choose another dataset (`lab data list`)"
        )
    if dataset.alphabet.kinds != workload.program.kinds:
        raise MatrixError(
            f"dataset {entry.dataset} has the kinds {', '.join(dataset.alphabet.kinds)}, but "
            f"{entry.name} reads {', '.join(workload.program.kinds)}: the dataset is the input of another "
            "workload with this name; see `lab data show`"
        )
    return dataset


def _generate(
    workload: Workload,
    entry: WorkloadEntry,
    master: str,
    progress: Progress | None,
    say: Callable[[str], None],
) -> Dataset:
    """Return the generated dataset of an entry: from the catalogue, or generated now if missing or damaged."""
    if workload.source is not None:
        return verify(ensure(workload, entry.params, entry.events, entry.seed, progress=progress))
    catalog = Catalog.default()
    recipe = recipe_of(workload, workload.params(entry.params), entry.events, entry.seed)
    existing = catalog.find(recipe)
    if existing is not None:
        return existing
    damage = catalog.damage(recipe)
    if damage is not None:
        say(f"the input of {entry.key} is damaged and will be generated again: {damage[1]}")
    dataset = ensure(
        workload, entry.params, entry.events, entry.seed, master=master, progress=progress
    )
    if damage is not None and dataset.id != damage[0]:
        raise DatasetError(
            f"the input of {entry.key} was damaged and generated again; its id is now {dataset.id} "
            f"and was {damage[0]}: the generator has changed, and older results belong to the old "
            "input; run again to use the new one"
        )
    return verify(dataset)
