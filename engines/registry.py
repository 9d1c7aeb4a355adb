"""Finds engine adapters through the entry-point group `lab.engines`.

Users may install engines, so any failure to load an engine is reported as an error of this engine.
"""

from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import INTERFACE, Engine, Variant
from streamlab.workloads.entry_points import find_entry_points
from streamlab.workloads.name_suggestions import suggest_names

GROUP = "lab.engines"
_METHODS = tuple(name for name, part in vars(Engine).items() if callable(part) and name[0] != "_")
"""The methods of an engine."""


def names() -> tuple[str, ...]:
    """Return the names of all installed engines."""
    return tuple(sorted(point.name for point in find_entry_points(GROUP)))


def engine(name: str) -> Engine:
    """Return a new adapter; imports only this engine.

    Raises:
        EngineError: no engine has this name, it cannot be loaded, it lacks methods, or it needs a newer lab.
    """
    points = [point for point in find_entry_points(GROUP) if point.name == name]
    if not points:
        raise EngineError(f"no engine {name!r}; {suggest_names(name, names(), 'lab list engines')}")
    where = f"engine {name!r} ({points[0].value})"
    try:
        factory = points[0].load()
        interface = getattr(factory, "interface", 1)
        if not isinstance(interface, int):
            raise TypeError(f"its interface is {interface!r}, not a whole number")
        if interface > INTERFACE:
            raise EngineError(
                f"{where} is written for interface {interface} of streamlab.engine, and this lab "
                f"has {INTERFACE}: update the lab, or install an older version of the engine"
            )
        adapter: Engine = factory()
        missing = [part for part in _METHODS if not callable(getattr(adapter, part, None))]
        if not missing:
            adapter.version()
            variants = adapter.variants()
            if not variants or not all(isinstance(variant, Variant) for variant in variants):
                raise TypeError(f"variants() is {variants!r}")
    except EngineError:
        raise
    except (Exception, SystemExit) as error:
        raise EngineError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    if missing:
        raise EngineError(
            f"{where} is not an engine: it lacks {', '.join(missing)} of "
            "streamlab.engines.protocol.Engine"
        )
    return adapter
