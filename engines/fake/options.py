"""Defines the options of the fake engine: its simulated speed and faults."""

import math
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

Rate = Annotated[float, Meta(gt=0)]
AtLeastZero = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeOptions:
    """Options of the fake engine.

    Under an offered load the fake is a server with one queue, first come, first served. Unless `real_time` is set it
    runs in virtual time: it computes when every event would be served and reports that without waiting, so that
    minutes of load take milliseconds. The duration measured by the lab then means nothing; the plan states this, and
    the counter `virtual_end_s` is the time of the last event.

    Attributes:
        capacity_eps: events/s that it serves, on average; None: unlimited. Without a load it sleeps for as long as all
            events take at this rate.
        rate_eps: old name of capacity_eps; set only one of them.
        noise: standard deviation of the logarithm of each event's service time, whose mean stays 1 / capacity;
            0: all events take equally long.
        seed: seed of the noise.
        stall_at_s, stall_s: when it stops serving, after the start of the load, and for how long.
        generator_lag_s: delay of each hand-over by its source; 0: the source is virtual.
        scale_at_s: under a load, reports a change from one instance to two at this time after the start;
            None: it is not elastic.
        real_time: whether it waits for the time of the load; reports the same figures.
        plan: the plan in the result.
        refuse: makes every task unsupported, with this reason.
        says: message of the error of variants `crash` and `mute`.
    """

    capacity_eps: Rate | None = None
    rate_eps: Rate | None = None
    noise: AtLeastZero = 0.0
    seed: Annotated[int, Meta(ge=0)] = 0
    stall_at_s: AtLeastZero = 0.0
    stall_s: AtLeastZero = 0.0
    generator_lag_s: AtLeastZero = 0.0
    scale_at_s: AtLeastZero | None = None
    real_time: bool = False
    plan: str | None = None
    refuse: str | None = None
    says: str | None = None

    def __post_init__(self) -> None:
        if self.capacity_eps is not None and self.rate_eps is not None:
            raise ValueError("options capacity_eps and rate_eps mean the same; set one of them")

    @property
    def served_eps(self) -> float:
        """Events/s that it serves; infinite without a capacity."""
        capacity = self.rate_eps if self.capacity_eps is None else self.capacity_eps
        return math.inf if capacity is None else capacity
