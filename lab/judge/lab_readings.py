"""Compares a trial's own readings of clock and CPU time with the lab's readings from outside.

An engine runs in the process that takes the trial's readings, so the engine could falsify these readings.
The lab's readings (`streamlab.lab.runner.witness`) set bounds; a trial with readings outside the bounds is `invalid`.
"""

import msgspec

from streamlab.lab.trial.report import AFTER_BEGIN, AFTER_END, BEFORE_BEGIN, BEFORE_END

CLOCK_SLACK_S, CLOCK_SLACK_SHARE = 1e-3, 1e-3
"""Tolerance between the trial's clock and the clock of the stamps; the latter may be adjusted meanwhile."""
LEAST_CPU_GAP_S, CPU_GAP_SHARE = 0.05, 0.1
"""Tolerance of CPU time: the kernel counts other processes in ticks of 10 ms, and includes the lab's own work."""
OWN_CPU_SHARE = 0.01
"""Tolerance of CPU time as a share of the timed part, for the process that reads energy for the lab."""


class PhaseReport(msgspec.Struct, frozen=True, kw_only=True):
    """One report of a trial, as received by the lab.

    Attributes:
        name: name of the phase that begins, or of a stamp (`streamlab.lab.trial.report`).
        at_ns: time of the report, by the lab's monotonic clock.
        cpu_s: CPU time of the trial's processes until `read_ns`, with a resolution of 10 ms; None: not read.
        read_ns: time when `cpu_s` had been read, by the same clock; 0 without `cpu_s`.
    """

    name: str
    at_ns: int
    cpu_s: float | None = None
    read_ns: int = 0


class LabReadings(msgspec.Struct, frozen=True, kw_only=True):
    """The lab's readings of a trial that ended normally.

    Attributes:
        least_s, most_s: bounds of the timed part's length by the lab's clock.
        cpu_s: CPU time of the timed part by the kernel's account; None: unreadable.
        margin_s: time before and after the timed part that `cpu_s` also covers. This time grows on a busy machine,
            and an engine's background threads, such as a Java compiler, use CPU time during it.
        prepare_s, answer_s: time before and after the timed part in which the engine can work, with some ms of
            the lab's own work.
    """

    least_s: float
    most_s: float
    cpu_s: float | None
    margin_s: float
    prepare_s: float
    answer_s: float


def read_phases(reports: tuple[PhaseReport, ...]) -> LabReadings | str:
    """Return the lab's readings of a trial, or the reason why they are missing."""
    by_name = {}
    stamps = (BEFORE_BEGIN, AFTER_BEGIN, BEFORE_END, AFTER_END)
    for name in ("prepare", "run", *stamps, "ran", "answer", "close"):
        matches = [phase for phase in reports if phase.name == name]
        if len(matches) != 1:
            times = "never" if not matches else f"{len(matches)} times"
            return f"the trial reported {name!r} {times}, so the lab cannot check its clock"
        by_name[name] = matches[0]
    order = [phase.at_ns for phase in by_name.values()]
    if order != sorted(order):
        return "the trial reported its phases in the wrong order"

    def between(first: str, last: str) -> float:
        return (by_name[last].at_ns - by_name[first].at_ns) / 1e9

    before, after = by_name["run"].cpu_s, by_name["ran"].cpu_s
    read_late_s = max(0, by_name["ran"].read_ns - by_name["ran"].at_ns) / 1e9
    return LabReadings(
        least_s=between(AFTER_BEGIN, BEFORE_END),
        most_s=between(BEFORE_BEGIN, AFTER_END),
        cpu_s=None if before is None or after is None else max(0.0, after - before),
        margin_s=between("run", BEFORE_BEGIN) + between(AFTER_END, "ran") + read_late_s,
        prepare_s=between("prepare", AFTER_BEGIN),
        answer_s=between(BEFORE_END, "close"),
    )


def contradictions(
    lab: LabReadings, *, timed_s: float, cpu_s: float | None, cores: float
) -> list[str]:
    """Return a text for each of the trial's own readings that is outside the lab's bounds.

    Args:
        lab: the lab's readings.
        timed_s: length of the timed part by the trial's clock.
        cpu_s: CPU time of the timed part by the trial; None if the trial reports no CPU time.
        cores: number of cores that the trial could use.
    """
    problems = []
    slack_s = CLOCK_SLACK_S + CLOCK_SLACK_SHARE * lab.most_s
    if not lab.least_s - slack_s <= timed_s <= lab.most_s + slack_s:
        problems.append(
            f"the trial's clock says {timed_s:.3f} s, the lab's between {lab.least_s:.3f} and "
            f"{lab.most_s:.3f} s"
        )
    if lab.cpu_s is not None and cpu_s is not None:
        gap_s = max(LEAST_CPU_GAP_S, CPU_GAP_SHARE * lab.cpu_s) + OWN_CPU_SHARE * lab.most_s
        gap_s += cores * lab.margin_s
        if lab.cpu_s - cpu_s > gap_s:
            problems.append(
                f"the trial's CPU time says {cpu_s:.3f} s, the kernel's account of its processes "
                f"{lab.cpu_s:.3f} s"
            )
    return problems
