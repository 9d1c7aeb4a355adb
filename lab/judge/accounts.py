"""Compares a trial's own readings with what the lab saw from outside.

An engine runs in the process that reads the clock and the CPU time, and can change both readings.
The lab's own (`streamlab.lab.runner.witness`) bound them; a trial whose readings are outside is `invalid`.
"""

import msgspec

from streamlab.lab.trial.report import AFTER_BEGIN, AFTER_END, BEFORE_BEGIN, BEFORE_END

CLOCK_SLACK_S, CLOCK_SLACK_SHARE = 1e-3, 1e-3
"""Between the clock of the stamps, which may be adjusted meanwhile, and the trial's."""
LEAST_CPU_GAP_S, CPU_GAP_SHARE = 0.05, 0.1
"""Of the kernel's account: it counts other processes in ticks of 10 ms, and the lab's own work."""
OWN_CPU_SHARE = 0.01
"""Of the timed part: the process that reads energy for the lab is in the kernel's account."""


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """One report of a trial, as the lab saw it.

    Attributes:
        name: of the phase that begins, or of a stamp (`streamlab.lab.trial.report`).
        at_ns: the lab's monotonic clock when it was sent.
        cpu_s: CPU time of the trial's processes until then, to the kernel's tick (10 ms); None:
            not read.
    """

    name: str
    at_ns: int
    cpu_s: float | None = None


class Accounts(msgspec.Struct, frozen=True, kw_only=True):
    """What the lab saw of a trial that reached its end.

    Attributes:
        least_s, most_s: bounds of the timed part by the lab's clock.
        cpu_s: CPU time of the timed part by the kernel's account; None: it cannot be read.
        prepare_s, answer_s: time before and after the timed part in which the engine can work, with
            some ms of the lab's own work.
    """

    least_s: float
    most_s: float
    cpu_s: float | None
    prepare_s: float
    answer_s: float


def accounts(sightings: tuple[Sighting, ...]) -> Accounts | str:
    """Return the lab's readings of a trial, or why there are none."""
    found = {}
    stamps = (BEFORE_BEGIN, AFTER_BEGIN, BEFORE_END, AFTER_END)
    for name in ("prepare", "run", *stamps, "ran", "answer", "close"):
        seen = [sighting for sighting in sightings if sighting.name == name]
        if len(seen) != 1:
            times = "never" if not seen else f"{len(seen)} times"
            return f"the trial reported {name!r} {times}, so that the lab cannot check its clock"
        found[name] = seen[0]
    order = [sighting.at_ns for sighting in found.values()]
    if order != sorted(order):
        return "the trial reported its phases in another order than they have"

    def between(first: str, last: str) -> float:
        return (found[last].at_ns - found[first].at_ns) / 1e9

    before, after = found["run"].cpu_s, found["ran"].cpu_s
    return Accounts(
        least_s=between(AFTER_BEGIN, BEFORE_END),
        most_s=between(BEFORE_BEGIN, AFTER_END),
        cpu_s=None if before is None or after is None else max(0.0, after - before),
        prepare_s=between("prepare", AFTER_BEGIN),
        answer_s=between(BEFORE_END, "close"),
    )


def contradictions(seen: Accounts, *, timed_s: float, cpu_s: float) -> list[str]:
    """Return which of a trial's readings are outside the lab's bounds, in words.

    Args:
        seen: the lab's readings.
        timed_s: the trial's reading of the length of its timed part.
        cpu_s: its reading of the CPU time in that.
    """
    found = []
    slack_s = CLOCK_SLACK_S + CLOCK_SLACK_SHARE * seen.most_s
    if not seen.least_s - slack_s <= timed_s <= seen.most_s + slack_s:
        found.append(
            f"the trial's clock says {timed_s:.3f} s, the lab's between {seen.least_s:.3f} and "
            f"{seen.most_s:.3f} s"
        )
    if seen.cpu_s is not None:
        gap_s = max(LEAST_CPU_GAP_S, CPU_GAP_SHARE * seen.cpu_s) + OWN_CPU_SHARE * seen.most_s
        if seen.cpu_s - cpu_s > gap_s:
            found.append(
                f"the trial's CPU time says {cpu_s:.3f} s, the kernel's account of its processes "
                f"{seen.cpu_s:.3f} s"
            )
    return found
