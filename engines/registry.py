"""Finds engine adapters through the entry-point group `lab.engines`.

Anybody may install one, so whatever goes wrong while it is loaded is an error of that engine.
"""

from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import INTERFACE, Engine, Variant
from streamlab.workloads.entry_points import find_entry_points
from streamlab.workloads.name_suggestions import suggest_names

GROUP = "lab.engines"
_WANTED = tuple(name for name, part in vars(Engine).items() if callable(part) and name[0] != "_")
"""The methods of an engine."""


def names() -> tuple[str, ...]:
    """Return the names of all installed engines."""
    return tuple(sorted(point.name for point in find_entry_points(GROUP)))


def engine(name: str) -> Engine:
    """Return a new adapter of that name; only this one is imported.

    Raises:
        EngineError: there is none, it cannot be loaded, it is no engine, or one for a newer lab.
    """
    found = [point for point in find_entry_points(GROUP) if point.name == name]
    if not found:
        raise EngineError(f"no engine {name!r}; {suggest_names(name, names(), 'lab list engines')}")
    where = f"engine {name!r} ({found[0].value})"
    try:
        made = found[0].load()
        wanted = getattr(made, "interface", 1)
        if not isinstance(wanted, int):
            raise TypeError(f"its interface is {wanted!r}, not a whole number")
        if wanted > INTERFACE:
            raise EngineError(
                f"{where} is written for interface {wanted} of streamlab.engine, and this lab has "
                f"{INTERFACE}: update the lab, or install an older version of the engine"
            )
        adapter: Engine = made()
        lacking = [part for part in _WANTED if not callable(getattr(adapter, part, None))]
        if not lacking:
            adapter.version()
            variants = adapter.variants()
            if not variants or not all(isinstance(variant, Variant) for variant in variants):
                raise TypeError(f"variants() is {variants!r}")
    except EngineError:
        raise
    except (Exception, SystemExit) as error:
        raise EngineError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    if lacking:
        raise EngineError(
            f"{where} is no engine: it lacks {', '.join(lacking)} of streamlab.engines.protocol.Engine"
        )
    return adapter
