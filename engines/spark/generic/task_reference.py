"""Describes a task to Spark's Python workers, which load its program by reference.

Functions of a user's file cannot be pickled by name, because the file's module has no importable name. Pickled by
value, their code would be sent with every Spark task.
"""

from dataclasses import dataclass

from streamlab.engines.spark.layout import time_span
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Alphabet, ModelError, Params, Program, Workload
from streamlab.workloads.model.code.fingerprint import code_of
from streamlab.workloads.registry import workload as find_workload


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReference:
    """The description of a task that is sent to workers.

    Attributes:
        alphabet: the dataset's alphabet.
        streams: number of streams.
        workers: number of workers.
        opening: time of the first event; None if the input is empty.
        closing: the watermark at the end of the input.
        reference: the name by which `streamlab.workloads.registry` finds the workload.
        params: the workload's query parameters.
    """

    alphabet: Alphabet
    streams: int
    workers: int
    opening: int | None
    closing: int
    reference: str
    params: Params

    def load(self) -> Program:
        """Return the program; works in any process."""
        return find_workload(self.reference).bound(self.params).program


def describe_task(workload: Workload, dataset: Dataset, *, workers: int) -> TaskReference:
    """Return the description of a workload and an input for workers."""
    opening, closing = time_span(dataset) or (None, 0)  # An empty input closes no windows.
    return TaskReference(
        alphabet=Alphabet(kinds=workload.program.kinds, keys=dataset.alphabet.keys),
        streams=len(dataset.streams),
        workers=workers,
        opening=opening,
        closing=closing,
        reference=workload.registry_name,
        params=dict(workload.query_params),
    )


def unreachable(workload: Workload) -> str | None:
    """Return why workers cannot load a workload's program by its reference, or None."""
    try:
        program = find_workload(workload.registry_name).bound(workload.query_params).program
    except ModelError as error:
        return f"spark's Python workers load a program by reference: {error}"
    if code_of(program) != code_of(workload.program):
        return (
            f"spark's Python workers would load another program as {workload.registry_name}; "
            f"put workload {workload.name} into a separate file and name its path"
        )
    return None
