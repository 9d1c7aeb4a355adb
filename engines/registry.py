"""Finds engine adapters through the entry-point group `lab.engines`."""

from importlib.metadata import entry_points

from engines.errors import EngineError
from engines.protocol import Engine

GROUP = "lab.engines"


def names() -> tuple[str, ...]:
    """Return the names of all installed engines."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


def engine(name: str) -> Engine:
    """Return a new adapter of that name; only this one is imported.

    Raises:
        EngineError: there is none, or it does not import.
    """
    found = [point for point in entry_points(group=GROUP) if point.name == name]
    if not found:
        raise EngineError(f"no engine {name!r}; there are {', '.join(names())}")
    try:
        adapter: Engine = found[0].load()()
    except ImportError as error:
        raise EngineError(f"engine {name!r} does not import: {error}") from error
    return adapter
