"""Returns a workload's program as one programming model, or raises if it is of another."""

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
"""Noun phrases for a program of each model, for messages."""


def dgs_program(workload: Workload) -> DGSProgram:
    """Return the DGS program of a workload.

    Raises:
        ModelError: The program is of another model.
    """
    if isinstance(workload.program, DGSProgram):
        return workload.program
    raise _other(workload, DGSProgram, ": it has no synchronization plan")


def query(workload: Workload) -> Query:
    """Return the O+ query of a workload.

    Raises:
        ModelError: The program is of another model.
    """
    if isinstance(workload.program, Query):
        return workload.program
    raise _other(workload, Query)


def pipeline(workload: Workload) -> Pipeline:
    """Return the ordered pipeline of a workload.

    Raises:
        ModelError: The program is of another model.
    """
    if isinstance(workload.program, Pipeline):
        return workload.program
    raise _other(workload, Pipeline)


def _other(workload: Workload, expected: type[Program], more: str = "") -> ModelError:
    actual = WORDS[type(workload.program)]
    return ModelError(f"workload {workload.name} is {actual}, not {WORDS[expected]}{more}")
