"""Controllers: decide how many instances an elastic operator has. Found by name.

STRETCH leaves the policy to external modules (section 2.5); this is their interface. A controller
is one class: a name, keyword arguments with defaults, and `decide`. Those of other packages are
found through the entry-point group `lab.controllers`.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore.oplus.elastic.decision import Decision
from streamlab.engines.multicore.oplus.elastic.model import Model
from streamlab.engines.multicore.oplus.elastic.observation import Observation
from streamlab.engines.multicore.oplus.elastic.script import Script
from streamlab.engines.multicore.oplus.elastic.thresholds import Thresholds
from streamlab.workloads.entry_points import find_entry_points

GROUP = "lab.controllers"
BUILT_IN: Mapping[str, type] = {"thresholds": Thresholds, "model": Model, "script": Script}
DEFAULT_PERIOD_MS = 100.0
SHORTEST_PERIOD_MS = 1.0
"""A look costs some tens of microseconds of a core: a thousand a second are some percent of it."""


class Controller(Protocol):
    """Decides about one operator during one run; may keep what it saw."""

    def decide(self, seen: Observation) -> Decision | None:
        """Return the number of instances that there should be, or None to leave it as it is.

        Called at every look, except at the first after a change. A number beyond the bounds is
        brought within them. What it raises ends the run with that error.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the `controller` option says of the loop, whatever the kind.

    Attributes:
        kind: the controller's name.
        minimum: fewest instances (`min`).
        maximum: most instances (`max`); None: as many as the engine can have.
        period_ms: between two looks.
        from_s: after the start of the run; before that nothing is changed.
        options: the kind's own.
    """

    kind: str
    minimum: int
    maximum: int | None
    period_ms: float
    from_s: float
    options: Mapping[str, object]


def names() -> tuple[str, ...]:
    """Return the names of all controllers."""
    return tuple(sorted({*BUILT_IN, *(point.name for point in find_entry_points(GROUP))}))


def make(option: object) -> tuple[Controller, Settings]:
    """Return a new controller, as an engine's `controller` option describes it.

    Args:
        option: what a matrix says, e.g. `{ kind = "thresholds", upper = 0.9, min = 1, max = 8,
            period_ms = 100 }`: `kind`, `min`, `max`, `period_ms`, `from_s`, and the kind's own
            options.

    Raises:
        UnsupportedError: there is no such kind, an option is unknown or missing, or a value is not
            what it must be; the message names it and says what would do.
    """
    settings = _settings(option)
    factory = _factory(settings.kind)
    where = f"controller {settings.kind}"
    accepted = inspect.signature(factory).parameters
    for key, value in settings.options.items():
        if key not in accepted:
            known = ", ".join((*accepted, "kind", "min", "max", "period_ms", "from_s"))
            raise UnsupportedError(
                f"{where}: option {key} (= {value!r}) is unknown; it has {known}"
            )
    given: dict[str, Any] = {}
    for name, parameter in accepted.items():
        if name in settings.options:
            given[name] = _converted(f"{where}: option {name}", settings.options[name], parameter)
        elif parameter.default is inspect.Parameter.empty:
            raise UnsupportedError(f"{where}: option {name} is missing")
    try:
        controller: Controller = factory(**given)
    except ValueError as error:
        raise UnsupportedError(f"{where}: {error}") from error
    return controller, settings


def _settings(option: object) -> Settings:
    if not isinstance(option, Mapping):
        raise UnsupportedError(
            f"option controller is {option!r}; expected a table, e.g. "
            '{ kind = "thresholds", max = 8 }'
        )
    left = dict(option)
    kind = left.pop("kind", None)
    if not isinstance(kind, str):
        raise UnsupportedError(
            f"controller: kind is {kind!r}; expected one of {', '.join(names())}"
        )
    where = f"controller {kind}"
    minimum = left.pop("min", 1)
    maximum = left.pop("max", None)
    period_ms = left.pop("period_ms", DEFAULT_PERIOD_MS)
    from_s = left.pop("from_s", 0.0)
    for name, value in (("min", minimum), ("max", maximum)):
        if not (type(value) is int and value >= 1) and not (name == "max" and value is None):
            raise UnsupportedError(
                f"{where}: {name} is {value!r}; expected a whole number of at least 1"
            )
    if maximum is not None and maximum < minimum:
        raise UnsupportedError(f"{where}: max is {maximum}, below min, which is {minimum}")
    if not _is_number(period_ms) or not SHORTEST_PERIOD_MS <= period_ms < math.inf:
        raise UnsupportedError(
            f"{where}: period_ms is {period_ms!r}; expected a number of at least "
            f"{SHORTEST_PERIOD_MS:g}"
        )
    if not _is_number(from_s) or from_s < 0:
        raise UnsupportedError(f"{where}: from_s is {from_s!r}; expected a number of at least 0")
    return Settings(
        kind=kind,
        minimum=minimum,
        maximum=maximum,
        period_ms=float(period_ms),
        from_s=float(from_s),
        options=left,
    )


def _factory(kind: str) -> Callable[..., Controller]:
    found = [point for point in find_entry_points(GROUP) if point.name == kind]
    if kind in BUILT_IN:
        return BUILT_IN[kind]
    if not found:
        raise UnsupportedError(
            f"controller: there is no kind {kind!r}; expected one of {', '.join(names())}"
        )
    try:
        loaded: Callable[..., Controller] = found[0].load()
    except (ImportError, AttributeError) as error:
        raise UnsupportedError(
            f"controller {kind} ({found[0].value}) does not load: {error}"
        ) from error
    return loaded


def _converted(where: str, value: object, parameter: inspect.Parameter) -> object:
    """Return a value of the type that the parameter's default has."""
    wanted = type(parameter.default)
    if wanted is float:
        if not _is_number(value):
            raise UnsupportedError(f"{where} is {value!r}; expected a finite number")
        return float(value)  # type: ignore[arg-type]  # a number, as just checked
    if wanted in (int, bool, str) and type(value) is not wanted:
        words = {int: "a whole number", bool: "true or false", str: "a text"}
        raise UnsupportedError(f"{where} is {value!r}; expected {words[wanted]}")
    return value


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number above the largest float
        return False
