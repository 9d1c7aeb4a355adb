"""A workload's program as one of a given programming model, or an error that says what it is."""

from streamlab.workloads.model.dataflow import Dataflow
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.operators.program import Query
from streamlab.workloads.model.pipeline.program import Pipeline
from streamlab.workloads.model.workload import Program, Workload

WORDS: dict[type[Program], str] = {
    DGSProgram: "a program with dependency-guided synchronization",
    Query: "a query of operators O+",
    Pipeline: "an ordered pipeline",
    Dataflow: "a typed dataflow graph",
}
"""The programming models, in words for one program."""


def dgs_program(workload: Workload) -> DGSProgram:
    """Return the program of a workload with dependency-guided synchronization.

    Raises:
        ModelError: it is of another model.
    """
    if isinstance(workload.program, DGSProgram):
        return workload.program
    raise _other(workload, DGSProgram, ": it has no synchronization plan")


def query(workload: Workload) -> Query:
    """Return the query of a workload.

    Raises:
        ModelError: it is of another model.
    """
    if isinstance(workload.program, Query):
        return workload.program
    raise _other(workload, Query)


def pipeline(workload: Workload) -> Pipeline:
    """Return the pipeline of a workload.

    Raises:
        ModelError: it is of another model.
    """
    if isinstance(workload.program, Pipeline):
        return workload.program
    raise _other(workload, Pipeline)


def _other(workload: Workload, wanted: type[Program], more: str = "") -> ModelError:
    found = WORDS[type(workload.program)]
    return ModelError(f"workload {workload.name} is {found}, not {WORDS[wanted]}{more}")
