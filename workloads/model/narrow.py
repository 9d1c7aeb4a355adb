"""A workload's program as one of a given programming model, or an error that says what it is."""

from workloads.model.errors import ModelError
from workloads.model.operator import Query
from workloads.model.program import DGSProgram
from workloads.model.workload import Workload


def dgs_program(workload: Workload) -> DGSProgram:
    """Return the program of a workload with dependency-guided synchronization.

    Raises:
        ModelError: it is a query of operators O+.
    """
    if isinstance(workload.program, DGSProgram):
        return workload.program
    raise ModelError(
        f"workload {workload.name} is a query of operators O+, not a program with "
        "dependency-guided synchronization: it has no synchronization plan"
    )


def query(workload: Workload) -> Query:
    """Return the query of a workload.

    Raises:
        ModelError: it is a program with dependency-guided synchronization.
    """
    if isinstance(workload.program, Query):
        return workload.program
    raise ModelError(
        f"workload {workload.name} is a program with dependency-guided synchronization, "
        "not a query of operators O+"
    )
