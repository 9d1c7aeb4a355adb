"""Compares the statuses of a cell's trials: a fault fails at once, bad luck is counted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamlab.lab.gate.metrics import Result
from streamlab.lab.gate.outcome import Line, Word
from streamlab.results import schema
from streamlab.results.stats.statuses import FAULTS, ORDER, StatusTest, compare_statuses, level

if TYPE_CHECKING:
    from streamlab.lab.gate.decision import Pair

STATUS = "status"
"""The metric of a line on statuses; that of a line on a fault is empty."""

MOST_UNVERIFIED = 4
"""Trials without a verified answer in one arm, after which its cell is not run further: a number
needs a verified answer in every trial, and four of four a side suffice to call the status."""


def is_fault(result: Result) -> bool:
    """Return whether a trial shows a fault of the program, which no luck explains."""
    return result.get("status") in FAULTS


def is_verified(result: Result) -> bool:
    """Return whether a trial has a verified answer."""
    return result.get("status") in schema.VERIFIED


def is_lost(results: Sequence[Result]) -> bool:
    """Return whether further trials of a cell cannot give a number."""
    unverified = sum(not is_verified(result) for result in results)
    return any(map(is_fault, results)) or unverified >= MOST_UNVERIFIED


def fault_line(cell: str, pair: "Pair") -> Line | None:
    """Return a line when an arm has a fault, or no verified answer in any trial; else None."""
    old, new = _fault(pair.old), _fault(pair.new)
    if old is None and new is None:
        return None
    if old is None:
        word, note = Word.BROKEN, f"new: {new}"
    elif new is None:
        word, note = Word.FIXED, f"old: {old}"
    elif all(
        any(r.get("status") == schema.UNSUPPORTED for r in arm) for arm in (pair.old, pair.new)
    ):
        word, note = Word.UNSUPPORTED, f"new: {new}"
    else:
        word, note = Word.NO_NUMBER, f"not verified in either arm; new: {new}"
    return Line(cell=cell, metric="", word=word, note=note)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusFinding:
    """The test of a cell's statuses, and its trials in words."""

    test: StatusTest
    counts: str


def find_status(pair: "Pair", alpha: float) -> StatusFinding:
    """Return how the statuses of both arms compare; each has at least one trial."""
    old, new = _levels(pair.old), _levels(pair.new)
    counts = f"old: {_counted(old)}; new: {_counted(new)}"
    test = compare_statuses(old, new, alpha)
    if test.differs:
        worst = max(zip(new, pair.new, strict=True), key=lambda each: each[0])[1]
        if why := _reason(worst):
            counts += f" ({why})"
    return StatusFinding(test=test, counts=counts)


def status_line(cell: str, first: StatusFinding, second: StatusFinding | None) -> Line | None:
    """Return the line on a cell's statuses; None where the new arm's are no worse.

    Args:
        cell: its id.
        first: of the first stage.
        second: of the second, where the first is worse and there are two.
    """
    last = first if second is None else second
    if not first.test.differs:
        return None
    if last.test.worse:
        word = Word.REGRESSION
    elif not last.test.excludes:
        word = Word.UNSTABLE
    else:
        word = Word.UNCHANGED if second is None else Word.UNCONFIRMED
    note = first.counts if second is None else f"{second.counts}; first stage: {first.counts}"
    return Line(cell=cell, metric=STATUS, word=word, p=last.test.p, note=note)


def _fault(results: Sequence[Result]) -> str | None:
    if not results:
        return "no trial"
    found = [result for result in results if is_fault(result)]
    if not found and not any(map(is_verified, results)):
        found = list(results)
    if not found:
        return None
    return f"{found[0].get('status')}: {_reason(found[0]) or 'no reason'}"


def _reason(result: Result) -> str:
    reason = result.get("reason") or result.get("steady_reason") or ""
    return str(reason).partition("\n")[0]


def _levels(results: Sequence[Result]) -> list[int]:
    return [level(result.get("status"), result.get("steady")) for result in results]


def _counted(levels: Sequence[int]) -> str:
    return ", ".join(f"{count} {ORDER[each]}" for each, count in sorted(Counter(levels).items()))
