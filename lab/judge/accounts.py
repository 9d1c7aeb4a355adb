"""Compares a trial's own readings with what the lab saw from outside.

An engine runs in the process that reads the clock and the CPU time, and can change both readings.
The lab's own (`lab.parent.witness`) bound them: a trial that claims less time or CPU is `invalid`.
"""

import msgspec

from lab.trial.report import BEGIN, END

LEAST_UNTIMED_S = 0.1
"""Of the lab's own work around a phase: less is not held against a trial."""
LEAST_GAP_S = 0.05
"""A hypervisor may stop the machine between the trial's clock and its message for some 10 ms."""
GAP_SHARE = 0.1
"""Of the larger reading."""


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """One report of a trial, as the lab saw it.

    Attributes:
        name: of the phase that begins, or `begin` and `end` of the timed part.
        at_ns: the lab's monotonic clock when it was sent.
        cpu_s: CPU time of the trial's processes until then, to the kernel's tick (10 ms); None:
            not read.
        waited_s: for how long its main thread had no core until then.
    """

    name: str
    at_ns: int
    cpu_s: float | None = None
    waited_s: float = 0.0


class Accounts(msgspec.Struct, frozen=True, kw_only=True):
    """What the lab saw of a trial that reached its end.

    Attributes:
        timed_s: length of the timed part by the lab's clock.
        cpu_s: CPU time of the timed part by the kernel's account; None: it cannot be read.
        waited_s: for how long the trial's main thread had no core around the timed part.
        prepare_s, answer_s: time before and after the timed part in which the engine can work, with
            some ms of the lab's own work.
    """

    timed_s: float
    cpu_s: float | None
    waited_s: float
    prepare_s: float
    answer_s: float


def accounts(sightings: tuple[Sighting, ...]) -> Accounts | str:
    """Return the lab's readings of a trial, or why there are none."""
    found = {}
    begin, end = BEGIN.decode(), END.decode()
    for name in ("prepare", "run", begin, end, "ran", "answer", "close"):
        seen = [sighting for sighting in sightings if sighting.name == name]
        if len(seen) != 1:
            times = "never" if not seen else f"{len(seen)} times"
            return f"the trial reported {name} {times}, so that the lab cannot check its clock"
        found[name] = seen[0]
    order = [sighting.at_ns for sighting in found.values()]
    if order != sorted(order):
        return "the trial reported its phases in another order than they have"

    def between(first: str, last: str) -> float:
        return (found[last].at_ns - found[first].at_ns) / 1e9

    before, after = found["run"].cpu_s, found["ran"].cpu_s
    return Accounts(
        timed_s=between(begin, end),
        cpu_s=None if before is None or after is None else max(0.0, after - before),
        waited_s=found["ran"].waited_s - found["run"].waited_s,
        prepare_s=between("prepare", begin),
        answer_s=between(end, "close"),
    )


def contradictions(seen: Accounts, *, timed_s: float, cpu_s: float) -> list[str]:
    """Return what of a trial's claims the lab's readings contradict.

    Args:
        seen: the lab's readings.
        timed_s: the trial's reading of the length of its timed part.
        cpu_s: its reading of the CPU time in that.
    """
    found = []
    # A trial that loses its core between its clock and its message waits there.
    most_s = max(LEAST_GAP_S, GAP_SHARE * seen.timed_s) + seen.waited_s
    if abs(seen.timed_s - timed_s) > most_s:
        found.append(
            f"the trial's clock says {timed_s:.3f} s, the lab's {seen.timed_s:.3f} s: a clock that "
            "was changed, or a machine that stopped"
        )
    if seen.cpu_s is not None and seen.cpu_s - cpu_s > max(LEAST_GAP_S, GAP_SHARE * seen.cpu_s):
        found.append(
            f"the trial's CPU time says {cpu_s:.3f} s, the kernel's account of its processes "
            f"{seen.cpu_s:.3f} s"
        )
    return found
