"""What an optimizer is asked, what it may know of costs, and what it answers."""

from collections.abc import Callable
from dataclasses import dataclass

from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.model.streams.tag import Alphabet


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a program's steps cost on one machine, at one time, in ns.

    Attributes:
        update_ns: an event that a leaf processes in a run with others.
        order_ns: an event before which a leaf finishes its other streams, its update included.
        fork_join_ns: a synchronization at an inner node, its update included, where one worker has
            both children: join, update, fork.
        handover_ns: the same, what more it takes where two workers meet: to wait for each other's
            cache lines, or for the other to run at all.
        skip_ns: an event that a worker passes over, as its key is another's.
        start_ns: to start and end each worker beyond the first.
        cores: that workers may use at once.
        cross_ns: a state that an event across keys concerns.
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
    """Refuse to tell costs, where nobody measured any.

    Raises:
        LookupError: always.
    """
    raise LookupError("nobody measured costs")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What is to be planned.

    Attributes:
        program: the program.
        alphabet: its kinds and keys.
        streams: how many events of each tag they have; only proportions matter, except for costs.
        workers: most workers.
        nodes: the worker where each stream arrives; empty: stream i at worker i modulo `workers`.
        costs: measures them when called, which takes a while.
    """

    program: DGSProgram
    alphabet: Alphabet
    streams: tuple[StreamProfile, ...]
    workers: int
    nodes: tuple[int, ...] = ()
    costs: Callable[[], Costs] = no_costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A plan, and why it was chosen.

    Attributes:
        plan: valid, for at most as many workers as were offered.
        because: in numbers, a line each; empty where there was nothing to weigh.
    """

    plan: Plan
    because: tuple[str, ...] = ()


Optimizer = Callable[[PlanRequest], Choice]
"""Chooses a plan. Pure, but for what it asks of `PlanRequest.costs`."""
