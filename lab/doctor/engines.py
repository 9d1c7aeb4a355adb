"""Probe of the environments of their own that some engines need."""

from engines import environment
from engines.errors import EngineError
from engines.registry import engine, names
from lab.doctor.finding import Finding, ok, warn
from lab.host.machine import Machine


def environments(machine: Machine) -> Finding:
    """Report which engines have an environment of their own, and whether it is made."""
    made: list[str] = []
    lacking: list[str] = []
    for name in names():
        try:
            wanted = environment.wanted_by(engine(name))
        except EngineError:  # `lab list engines` tells it
            continue
        if wanted is not None:
            (made if environment.lacking(name, wanted) is None else lacking).append(name)
    if not lacking:
        return ok("environments", ", ".join(made) or "no engine needs one of its own")
    seen = f"not made or out of date: {', '.join(lacking)}; their cells are unsupported"
    return warn("environments", seen, "; ".join(map(environment.command, lacking)))
