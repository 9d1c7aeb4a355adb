"""Options of the fake engine: how fast it pretends to be, and what goes wrong."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeOptions:
    """How a fake behaves, apart from its variant.

    Under an offered load the fake is a server with one queue, first come, first served. Unless
    `real_time` is set it runs in virtual time: it computes when every event would have been served
    and reports that (progress, latencies, what its source sent) without waiting for it, so that
    minutes of load take milliseconds. The time that the lab's own clock then measures means
    nothing; the plan says so, and the counter `virtual_end_s` has the time of the last event.

    Attributes:
        capacity_eps: events/s that it serves, on average; None: no time at all. Without a load it
            sleeps for as long as all events take at that rate.
        rate_eps: the same under its old name; only one of the two may be given.
        noise: standard deviation of the logarithm of each event's service time, whose mean stays
            1 / capacity; 0: every event takes equally long.
        seed: of the noise.
        stall_at_s, stall_s: when it stops serving, after the start of the load, and for how long.
        generator_lag_s: by how much its source hands each event over late; 0: the source is
            virtual, and hands over nothing.
        scale_at_s: under a load, say that it went from one instance to two at that time after the
            start; None: it is not elastic.
        real_time: spend the time of the load, and report the same figures.
        plan: the plan in words, as it is to stand in the result.
        refuse: be unsupported for that reason.
        says: what the error of the variant `crash` says.
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
        """Events/s that it serves; infinite where no capacity is given."""
        given = self.rate_eps if self.capacity_eps is None else self.capacity_eps
        return math.inf if given is None else given


_ABOVE_ZERO = ("capacity_eps", "rate_eps")
_NUMBERS = ("noise", "stall_at_s", "stall_s", "generator_lag_s", "scale_at_s")
_TEXTS = ("plan", "refuse", "says")


def parse_options(options: Mapping[str, object]) -> FakeOptions:
    """Return the options, checked.

    Raises:
        ValueError: an option is unknown, or has a value that it cannot have.
    """
    known = [field.name for field in fields(FakeOptions)]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(f"unknown options {', '.join(unknown)}; there are {', '.join(known)}")
    for name, value in options.items():
        wanted = _wanted(name, value)
        if wanted is not None:
            raise ValueError(f"option {name} is {value!r}; it must be {wanted}")
    if "capacity_eps" in options and "rate_eps" in options:
        raise ValueError("options capacity_eps and rate_eps mean the same; give one of them")
    return FakeOptions(**options)  # type: ignore[arg-type]  # checked above, by name


def _wanted(name: str, value: object) -> str | None:
    """Return what an option must be if it is not."""
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
