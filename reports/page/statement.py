"""Describes a run in one line, and states which numbers are verified and how much they vary."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from streamlab.reports.numbers import number_of
from streamlab.reports.run_warnings import LEAST_DIFFERENCE
from streamlab.reports.searches import Search
from streamlab.reports.summary import INVARIANTS, ORACLE, WITHOUT_ORACLE, Cell
from streamlab.reports.verdicts import MARKS, sign
from streamlab.results.meta import RunMeta
from streamlab.results.schema import (
    CRASH,
    IMPORTED,
    OOM,
    TIMEOUT,
    UNCHECKED,
    UNSUPPORTED,
    WRONG_OUTPUT,
)

_NO_ANSWER = (CRASH, OOM, TIMEOUT)
_NO_RATE = "search without a rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The text below the title.

    Attributes:
        size: the size of the run, in words.
        verdict: a statement on which numbers are verified.
        noise: how much the repetitions of a cell differ; empty without a rate.
        mark: the colour of the verdict, by its worst part. `bad`: a cell failed, or no cell has a
            number. `doubt`: something is missing, marked, empty or noisy. Ignores unsupported cells.
    """

    size: str
    verdict: str
    noise: str
    mark: Literal["good", "doubt", "bad"]


def missing_cells(
    meta: RunMeta, cells: Sequence[Cell], searches: Sequence[Search] = ()
) -> list[str]:
    """Return the planned cells of run.json that have no trial."""
    started = {cell.name for cell in cells} | {search.name for search in searches}
    return [str(name) for name in meta.cells if name not in started]


def statement(
    cells: Sequence[Cell],
    *,
    searches: Sequence[Search] = (),
    missing: Sequence[str] = (),
    complete: bool = True,
) -> Statement:
    """Describe a run by its cells."""
    all_cells = [*cells, *(search.place for search in searches)]
    if not all_cells:
        return Statement(
            size="No trial was recorded.",
            verdict="There is nothing to verify." + _incomplete_note(missing, complete),
            noise="",
            mark="bad",
        )
    trials = sum(sum(cell.statuses.values()) for cell in all_cells)
    sizes = (
        number_of(len({cell.workload for cell in all_cells}), "workload"),
        number_of(len({cell.engine for cell in all_cells}), "engine"),
        number_of(len(all_cells), "cell"),
        number_of(len(searches), "search", "searches") if searches else "",
        number_of(trials, "fresh process", "fresh processes"),
    )
    failed = Counter(cell.status for cell in cells if not cell.has_numbers)
    failed += Counter(WRONG_OUTPUT if s.wrong else _NO_RATE for s in searches if s.pass_eps is None)
    rated = len(all_cells) - failed.total()
    weak = Counter(c.checked_by for c in all_cells if c.has_numbers and c.checked_by != ORACLE)
    empty = sum(cell.has_numbers and cell.expected_outputs == 0 for cell in all_cells)
    marked = Counter(cell.status for cell in cells if cell.status in MARKS.keys() - {IMPORTED})
    unanswered = sum(s.place.statuses.get(status, 0) for s in searches for status in _NO_ANSWER)
    doubts = (
        f" In {number_of(empty, 'cell')} the right answer is empty, so that nothing was compared."
        if empty
        else "",
        _mark_words(marked),
        f" {number_of(unanswered, 'trial')} of searches gave no answer, which counts as a fail."
        if unanswered
        else "",
        _incomplete_note(missing, complete),
    )
    noise, noisy = _describe_noise(cells)
    sound = rated > 0 and set(failed) <= {UNSUPPORTED}
    return Statement(
        size=", ".join(filter(None, sizes)),
        verdict=_describe_verdict(rated, failed, weak) + "".join(doubts),
        noise=noise,
        mark="bad" if not sound else "doubt" if any(doubts) or noisy or weak[UNCHECKED] else "good",
    )


def _describe_noise(cells: Sequence[Cell]) -> tuple[str, bool]:
    """State how much the fastest and slowest repetition of cells differ, and return whether this is much."""
    rates = [cell.throughput_eps for cell in cells if cell.throughput_eps is not None]
    several = [rate.high / rate.low - 1 for rate in rates if rate.n > 1 and rate.low > 0]
    once = len(rates) - len(several)
    if not several:
        return ("Each cell ran once, so its noise is unknown." if rates else ""), False
    median_text, max_text = f"{median(several):.0%}", f"{max(several):.0%}"
    among = f", in {number_of(len(several), 'cell')}; {once} ran once" if once else ""
    at_most = "" if max_text == median_text else f" in the median, by {max_text} at most"
    noisy = median(several) > LEAST_DIFFERENCE
    doubt = " Only large ratios mean anything." if noisy else ""
    return f"Repetitions of a cell differ by {median_text}{at_most}{among}.{doubt}", noisy


def _mark_words(marked: Counter[str]) -> str:
    """State how many cells have numbers that need a mark."""
    if not marked:
        return ""
    counts = ", ".join(f"{n} {status} ({sign(status)})" for status, n in sorted(marked.items()))
    return f" Under the offered load, not every cell kept up or was steady: {counts}."


def _incomplete_note(missing: Sequence[str], complete: bool) -> str:
    if missing:
        return f" The run is incomplete: {number_of(len(missing), 'cell')} not run yet."
    return "" if complete else " The run is incomplete: some repetitions are missing."


def _describe_verdict(rated: int, failed: Counter[str], weak: Counter[str]) -> str:
    """State which numbers are verified; `weak` counts cells without an oracle, by origin of the right answer."""
    if weak[UNCHECKED]:
        without = f" {_list_failures(failed)}" if failed else ""
        return f"No answer was checked: the numbers are from another program.{without}"
    expected = "the expected answers" if weak else "the oracle's"
    if weak[INVARIANTS]:
        expected += " or satisfies the invariants" if not failed else " or satisfy the invariants"
    against = ""
    for origin, count in weak.items() if rated else ():
        subject = "The answers" if count == rated else f"Those of {number_of(count, 'cell')}"
        against += f" {subject} were {WITHOUT_ORACLE[origin]}."
    return _describe_right(rated, failed, expected) + against


def _describe_right(rated: int, failed: Counter[str], expected: str) -> str:
    without = ", ".join(f"{n} {status}" for status, n in sorted(failed.items()))
    if not failed:
        return f"All answers are right: every one equals {expected}."
    if not rated:
        return f"No cell has a verified number: {without}."
    return (
        f"All answers of {number_of(rated, 'cell')} are right: they equal {expected}. "
        f"{_list_failures(failed)}"
    )


def _list_failures(failed: Counter[str]) -> str:
    have = "has" if failed.total() == 1 else "have"
    statuses = ", ".join(f"{n} {status}" for status, n in sorted(failed.items()))
    return f"{number_of(failed.total(), 'cell')} {have} no number: {statuses}."
