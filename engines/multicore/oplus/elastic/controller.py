"""Creates controllers by name, with the settings of the elastic loop.

A controller is a class with annotated keyword arguments and the method `decide`.
Other packages register controllers in the entry-point group `lab.controllers`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated

from msgspec import Meta

from streamlab.engines.multicore.oplus.elastic.decision import Controller
from streamlab.engines.multicore.oplus.elastic.model import Model
from streamlab.engines.multicore.oplus.elastic.script import Script
from streamlab.engines.multicore.oplus.elastic.thresholds import Thresholds
from streamlab.engines.multicore.run.settings import Positive
from streamlab.engines.options import OptionError, make_options
from streamlab.workloads.entry_points import find_entry_points

GROUP = "lab.controllers"
BUILT_IN: Mapping[str, type] = {"thresholds": Thresholds, "model": Model, "script": Script}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the elastic loop, from the option `controller`.

    Attributes:
        kind: name of the controller.
        min: minimum number of instances.
        max: maximum number of instances; None means the engine's maximum.
        period_ms: time between two observations. An observation costs some tens of us, so a thousand per second cost a
            few percent of a core.
        from_s: time after the start of the run until which the loop changes nothing.
    """

    kind: str
    min: Positive = 1
    max: Positive | None = None
    period_ms: Annotated[float, Meta(ge=1)] = 100.0
    from_s: Annotated[float, Meta(ge=0)] = 0.0

    def __post_init__(self) -> None:
        if self.max is not None and self.max < self.min:
            raise ValueError(f"max is {self.max}, below min, which is {self.min}")


def names() -> tuple[str, ...]:
    """Return the names of all controllers."""
    return tuple(sorted({*BUILT_IN, *(point.name for point in find_entry_points(GROUP))}))


def make_controller(table: Mapping[str, object]) -> tuple[Controller, Settings]:
    """Create a controller from an engine's option `controller`.

    Its table has the fields of `Settings` and the controller's own options, e.g. `{ kind = "thresholds",
    upper = 0.9, max = 8 }`.

    Raises:
        OptionError: the kind does not exist, an option is unknown or missing, or a value is
            invalid; the message names the option and the expected values.
    """
    common = {field.name for field in fields(Settings)}
    where = f"controller {table.get('kind', '')}".rstrip()
    try:
        values = {name: value for name, value in table.items() if name in common}
        settings = make_options(Settings, values, "it")
        values = {name: value for name, value in table.items() if name not in common}
        return make_options(_factory(settings.kind), values, "it"), settings
    except OptionError as error:
        raise OptionError(f"{where}: {error}") from error


def _factory(kind: str) -> Callable[..., Controller]:
    if kind in BUILT_IN:
        return BUILT_IN[kind]
    points = [point for point in find_entry_points(GROUP) if point.name == kind]
    if not points:
        raise OptionError(f"kind {kind!r} does not exist; expected one of {', '.join(names())}")
    try:
        loaded: Callable[..., Controller] = points[0].load()
    except (ImportError, AttributeError) as error:
        raise OptionError(f"{points[0].value} does not load: {error}") from error
    return loaded
