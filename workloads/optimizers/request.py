"""Defines an optimizer's input and output: the request, the costs and the choice of a plan."""

from collections.abc import Callable
from dataclasses import dataclass

from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.model.streams.tag import Alphabet


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """The costs of a program's steps on one machine, in ns.

    Attributes:
        update_ns: an event that a leaf processes in a run of events.
        order_ns: an event before which a leaf finishes its other streams, with its update.
        fork_join_ns: a synchronization (join, update, fork) at an inner node whose children are
            both on one worker.
        handover_ns: the extra cost of a synchronization between two workers: waiting for cache
            lines, or for the other worker to be scheduled.
        skip_ns: an event that a worker skips because another worker owns its key.
        start_ns: starting and ending one more worker.
        cores: cores that workers may use at once.
        cross_ns: a state that an event across keys changes.
    """

    update_ns: float
    order_ns: float
    fork_join_ns: float
    handover_ns: float
    skip_ns: float
    start_ns: float
    cores: int
    cross_ns: float = 0


def no_costs() -> Costs:
    """Raise an error, because the request has no costs.

    Raises:
        LookupError: always.
    """
    raise LookupError("this PlanRequest has no measured costs; set its field costs")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """A request for a plan.

    Attributes:
        program: the program.
        alphabet: its kinds and keys.
        streams: number of events of each tag; without costs only proportions matter.
        workers: maximum number of workers.
        nodes: the worker where each stream arrives; if empty, stream i arrives at worker i modulo `workers`.
        costs: measures the costs when called, which takes a while.
    """

    program: DGSProgram
    alphabet: Alphabet
    streams: tuple[StreamProfile, ...]
    workers: int
    nodes: tuple[int, ...] = ()
    costs: Callable[[], Costs] = no_costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A plan with the reasons for it.

    Attributes:
        plan: a valid plan for at most `PlanRequest.workers` workers.
        reasons: lines of numbers that explain the choice; empty if there was no alternative.
    """

    plan: Plan
    reasons: tuple[str, ...] = ()


Optimizer = Callable[[PlanRequest], Choice]
"""Chooses a plan. Pure, except for calls of `PlanRequest.costs`."""
