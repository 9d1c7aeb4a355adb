"""What Spark's Python workers must know of a task, and how they find its program: by reference.

Functions of a file cannot be pickled, since nobody can import its module by name; and what is sent
by value would be pickled for every task.
"""

from dataclasses import dataclass

from streamlab.engines.spark.layout import Layout
from streamlab.workloads.model import Alphabet, ModelError, Params, Program, Workload
from streamlab.workloads.model.code.fingerprint import code_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """What workers must know.

    Attributes:
        alphabet: of the input.
        streams: how many it has.
        workers: degree of parallelism.
        opening: time of the first event; None: there are no events.
        closing: the watermark at the end of the input.
        reference: by which `streamlab.workloads.registry` finds the workload.
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
        """Return the program, in whatever process."""
        return _found(self.reference, self.params)


def ship(workload: Workload, plan: Layout, *, workers: int) -> Shipped:
    """Return what workers must know to run a workload on an input."""
    times = [stream.ts_max for stream in plan.streams if stream.rows]
    ends = [] if plan.until_ts is None else [plan.until_ts - 1]
    return Shipped(
        alphabet=Alphabet(kinds=workload.program.kinds, keys=plan.keys),
        streams=len(plan.streams),
        workers=workers,
        opening=min((stream.ts_min for stream in plan.streams if stream.rows), default=None),
        # What only the end of the input lets go of; of no input there is nothing.
        closing=max(times + ends) if times else 0,
        reference=workload.found_by,
        params=dict(workload.query_params),
    )


def unreachable(workload: Workload) -> str | None:
    """Return why workers would not find a workload's program by its reference, or None."""
    try:
        found = _found(workload.found_by, workload.query_params)
    except ModelError as error:
        return f"spark's Python workers find a program by reference: {error}"
    if code_of(found) != code_of(workload.program):
        return (
            f"spark's Python workers find another program as {workload.found_by} than the one "
            f"asked for; put workload {workload.name} into a file of its own and give its path"
        )
    return None


def _found(reference: str, params: Params) -> Program:
    from streamlab.workloads.registry import workload  # in workers, nothing before needs it

    return workload(reference).bound(params).program
