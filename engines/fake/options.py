"""Defines and checks the options of the fake engine: its simulated speed and faults."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields


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

    capacity_eps: float | None = None
    rate_eps: float | None = None
    noise: float = 0.0
    seed: int = 0
    stall_at_s: float = 0.0
    stall_s: float = 0.0
    generator_lag_s: float = 0.0
    scale_at_s: float | None = None
    real_time: bool = False
    plan: str | None = None
    refuse: str | None = None
    says: str | None = None

    @property
    def served_eps(self) -> float:
        """Events/s that it serves; infinite without a capacity."""
        capacity = self.rate_eps if self.capacity_eps is None else self.capacity_eps
        return math.inf if capacity is None else capacity


_ABOVE_ZERO = ("capacity_eps", "rate_eps")
_NUMBERS = ("noise", "stall_at_s", "stall_s", "generator_lag_s", "scale_at_s")
_TEXTS = ("plan", "refuse", "says")


def parse_options(options: Mapping[str, object]) -> FakeOptions:
    """Check options and return them as a record.

    Raises:
        ValueError: an option is unknown, or its value is invalid.
    """
    names = [field.name for field in fields(FakeOptions)]
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise ValueError(f"unknown options {', '.join(unknown)}; use {', '.join(names)}")
    for name, value in options.items():
        expected = _violated_rule(name, value)
        if expected is not None:
            raise ValueError(f"option {name} is {value!r}; it must be {expected}")
    if "capacity_eps" in options and "rate_eps" in options:
        raise ValueError("options capacity_eps and rate_eps mean the same; set one of them")
    return FakeOptions(**options)  # type: ignore[arg-type]  # checked above, by name


def _violated_rule(name: str, value: object) -> str | None:
    """Return what an option must be, or None if it is."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    number = value if is_number and isinstance(value, int | float) else math.nan
    if name in _ABOVE_ZERO:
        return None if 0 < number < math.inf else "a number above 0"
    if name in _NUMBERS:
        return None if 0 <= number < math.inf else "a number of at least 0"
    if name == "seed":
        return None if type(value) is int and value >= 0 else "a whole number of at least 0"
    if name == "real_time":
        return None if isinstance(value, bool) else "true or false"
    assert name in _TEXTS
    return None if isinstance(value, str) else "a text"
