"""Defines controllers, which decide how many instances an elastic operator has, and creates them by name.

STRETCH leaves the policy to external modules (section 2.5); this is their interface.
A controller is a class with keyword arguments that have defaults, and the method `decide`.
Other packages register controllers in the entry-point group `lab.controllers`.
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
"""An observation costs some tens of us, so a thousand per second cost a few percent of a core."""


class Controller(Protocol):
    """Decides about one operator during one run; may keep state."""

    def decide(self, observation: Observation) -> Decision | None:
        """Return the number of instances that the operator should have, or None to keep it.

        The loop calls this at every observation except the first after a change, and limits the
        number to the bounds. An exception ends the run with that error.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the elastic loop, from the option `controller`.

    Attributes:
        kind: name of the controller.
        minimum: minimum number of instances (`min`).
        maximum: maximum number of instances (`max`); None means the engine's maximum.
        period_ms: time between two observations.
        from_s: time after the start of the run before which nothing changes.
        options: options of the controller itself.
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


def make_controller(option: object) -> tuple[Controller, Settings]:
    """Create a controller from an engine's option `controller`.

    Args:
        option: table of a matrix, e.g. `{ kind = "thresholds", upper = 0.9, min = 1, max = 8,
            period_ms = 100 }`: `kind`, `min`, `max`, `period_ms`, `from_s`, and the controller's
            own options.

    Raises:
        UnsupportedError: the kind does not exist, an option is unknown or missing, or a value is
            invalid; the message names it and what is expected.
    """
    settings = _settings(option)
    factory = _factory(settings.kind)
    where = f"controller {settings.kind}"
    accepted = inspect.signature(factory).parameters
    for key, value in settings.options.items():
        if key not in accepted:
            options = ", ".join((*accepted, "kind", "min", "max", "period_ms", "from_s"))
            raise UnsupportedError(
                f"{where}: option {key} (= {value!r}) is unknown; it has {options}"
            )
    arguments: dict[str, Any] = {}
    for name, parameter in accepted.items():
        if name in settings.options:
            value = settings.options[name]
            arguments[name] = _convert(f"{where}: option {name}", value, parameter)
        elif parameter.default is inspect.Parameter.empty:
            raise UnsupportedError(f"{where}: option {name} is missing")
    try:
        controller: Controller = factory(**arguments)
    except ValueError as error:
        raise UnsupportedError(f"{where}: {error}") from error
    return controller, settings


def _settings(option: object) -> Settings:
    if not isinstance(option, Mapping):
        raise UnsupportedError(
            f"option controller is {option!r}; expected a table, e.g. "
            '{ kind = "thresholds", max = 8 }'
        )
    options = dict(option)
    kind = options.pop("kind", None)
    if not isinstance(kind, str):
        raise UnsupportedError(
            f"controller: kind is {kind!r}; expected one of {', '.join(names())}"
        )
    where = f"controller {kind}"
    minimum = options.pop("min", 1)
    maximum = options.pop("max", None)
    period_ms = options.pop("period_ms", DEFAULT_PERIOD_MS)
    from_s = options.pop("from_s", 0.0)
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
        options=options,
    )


def _factory(kind: str) -> Callable[..., Controller]:
    points = [point for point in find_entry_points(GROUP) if point.name == kind]
    if kind in BUILT_IN:
        return BUILT_IN[kind]
    if not points:
        raise UnsupportedError(
            f"controller: kind {kind!r} does not exist; expected one of {', '.join(names())}"
        )
    try:
        loaded: Callable[..., Controller] = points[0].load()
    except (ImportError, AttributeError) as error:
        raise UnsupportedError(
            f"controller {kind} ({points[0].value}) does not load: {error}"
        ) from error
    return loaded


def _convert(where: str, value: object, parameter: inspect.Parameter) -> object:
    """Convert a value to the type of the parameter's default."""
    expected = type(parameter.default)
    if expected is float:
        if not _is_number(value):
            raise UnsupportedError(f"{where} is {value!r}; expected a finite number")
        return float(value)  # type: ignore[arg-type]  # a number, as just checked
    if expected in (int, bool, str) and type(value) is not expected:
        words = {int: "a whole number", bool: "true or false", str: "a text"}
        raise UnsupportedError(f"{where} is {value!r}; expected {words[expected]}")
    return value


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # An integer above the largest float.
        return False
