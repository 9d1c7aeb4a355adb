"""Compares the statuses of a cell's trials: a fault fails at once, other statuses are counted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from streamlab.lab.gate.metrics import Pair, TrialResult
from streamlab.lab.gate.outcome import Line, Verdict
from streamlab.results import schema
from streamlab.results.stats.statuses import FAULTS, ORDER, StatusTest, compare_statuses, level

STATUS = "status"
"""Metric of a line on statuses; a line on a fault has an empty metric."""

MAX_UNVERIFIED = 4
"""A cell stops after this many unverified trials in one arm. A number needs verified answers in all
trials, and four unverified trials of four are enough for a regression of the status."""


def is_fault(result: TrialResult) -> bool:
    """Return whether a trial shows a fault of the program that chance does not explain."""
    return result.status in FAULTS


def has_numbers(result: TrialResult) -> bool:
    """Return whether a trial has numbers: its answer was verified, or it was imported."""
    return result.status in schema.MEASURED


def is_lost(results: Sequence[TrialResult]) -> bool:
    """Return whether further trials of a cell cannot give a number."""
    unverified_count = sum(not has_numbers(result) for result in results)
    return any(map(is_fault, results)) or unverified_count >= MAX_UNVERIFIED


def fault_line(cell: str, pair: Pair) -> Line | None:
    """Return a line if an arm has a fault or no verified trial; else None."""
    old, new = _describe_fault(pair.old), _describe_fault(pair.new)
    if old is None and new is None:
        return None
    if old is None:
        word, note = Verdict.BROKEN, f"new: {new}"
    elif new is None:
        word, note = Verdict.FIXED, f"old: {old}"
    elif all(any(r.status == schema.UNSUPPORTED for r in arm) for arm in (pair.old, pair.new)):
        word, note = Verdict.UNSUPPORTED, f"new: {new}"
    else:
        word, note = Verdict.NO_NUMBER, f"not verified in either arm; new: {new}"
    return Line(cell=cell, metric="", word=word, note=note)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusFinding:
    """The test of a cell's statuses.

    Attributes:
        counts: counts of statuses in both arms, as text.
    """

    test: StatusTest
    counts: str


def find_status(pair: Pair, alpha: float) -> StatusFinding:
    """Compare the statuses of both arms, each with at least one trial."""
    old, new = _levels(pair.old), _levels(pair.new)
    counts = f"old: {_format_levels(old)}; new: {_format_levels(new)}"
    test = compare_statuses(old, new, alpha)
    if test.differs:
        worst = max(zip(new, pair.new, strict=True), key=lambda each: each[0])[1]
        if reason := _first_reason_line(worst):
            counts += f" ({reason})"
    return StatusFinding(test=test, counts=counts)


def status_line(cell: str, first: StatusFinding, second: StatusFinding | None) -> Line | None:
    """Return the line on a cell's statuses; None if the new arm's statuses are not worse.

    `second` is the second stage's finding; None if the first stage found nothing worse, or decides alone.
    """
    last = first if second is None else second
    if not first.test.differs:
        return None
    if last.test.worse:
        word = Verdict.REGRESSION
    elif not last.test.excludes:
        word = Verdict.UNSTABLE
    else:
        word = Verdict.UNCHANGED if second is None else Verdict.UNCONFIRMED
    note = first.counts if second is None else f"{second.counts}; first stage: {first.counts}"
    return Line(cell=cell, metric=STATUS, word=word, p=last.test.p, note=note)


def _describe_fault(results: Sequence[TrialResult]) -> str | None:
    if not results:
        return "no trial"
    faults = [result for result in results if is_fault(result)]
    if not faults and not any(map(has_numbers, results)):
        faults = list(results)
    if not faults:
        return None
    return f"{faults[0].status}: {_first_reason_line(faults[0]) or 'no reason'}"


def _first_reason_line(result: TrialResult) -> str:
    return (result.reason or result.steady_reason or "").partition("\n")[0]


def _levels(results: Sequence[TrialResult]) -> list[int]:
    return [level(result.status, result.steady) for result in results]


def _format_levels(levels: Sequence[int]) -> str:
    return ", ".join(f"{count} {ORDER[each]}" for each, count in sorted(Counter(levels).items()))
