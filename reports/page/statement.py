"""Describes a run in a sentence, and states which of its numbers are verified."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from streamlab.reports.numbers import number_of
from streamlab.reports.searches import Search
from streamlab.reports.summary import BY_REFERENCE, REFERENCE, Cell
from streamlab.reports.verdicts import MARKS, sign
from streamlab.results.meta import RunMeta
from streamlab.results.schema import CRASH, OOM, TIMEOUT, UNSUPPORTED, WRONG_OUTPUT

_NO_ANSWER = (CRASH, OOM, TIMEOUT)
_NO_RATE = "search without a rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The text below the title.

    Attributes:
        what: a description of the run.
        verdict: a statement on which numbers are verified.
        mark: the colour of the verdict, by its worst part. `bad`: a cell failed, or no cell has a
            number; `doubt`: something is missing, marked or empty. Unsupported cells count as neither.
    """

    what: str
    verdict: str
    mark: Literal["good", "doubt", "bad"]


def not_run(meta: RunMeta, cells: Sequence[Cell], searches: Sequence[Search] = ()) -> list[str]:
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
    every = [*cells, *(search.place for search in searches)]
    if not every:
        return Statement(
            what="No trial was recorded.",
            verdict="There is nothing to verify." + _rest(missing, complete),
            mark="bad",
        )
    trials = sum(sum(cell.statuses.values()) for cell in every)
    workers = sorted({cell.workers for cell in every})
    searched = f" ({number_of(len(searches), 'search', 'searches')} among them)" if searches else ""
    what = (
        f"{_list_names([c.workload for c in every], 'workload')} on "
        f"{_list_names([c.engine for c in every], 'engine')} with {_or_range(workers)}: "
        f"{number_of(len(every), 'cell')}{searched}, {number_of(trials, 'trial')},"
        f"{' each' if trials > 1 else ''} in a fresh process." + _kinds(cells)
    )
    failed = Counter(cell.status for cell in cells if not cell.verified)
    failed += Counter(WRONG_OUTPUT if s.wrong else _NO_RATE for s in searches if s.pass_eps is None)
    rated = len(every) - failed.total()
    weak = sum(cell.verified and cell.checked_by == REFERENCE for cell in every)
    empty = sum(cell.verified and cell.expected_outputs == 0 for cell in every)
    marked = Counter(cell.status for cell in cells if cell.status in MARKS)
    silent = sum(s.place.statuses.get(status, 0) for s in searches for status in _NO_ANSWER)
    doubts = (
        f" In {number_of(empty, 'cell')} the right answer is empty, so that nothing was compared."
        if empty
        else "",
        _mark_words(marked),
        f" {number_of(silent, 'trial')} of searches gave no answer, which counts as a fail."
        if silent
        else "",
        _rest(missing, complete),
    )
    sound = rated > 0 and set(failed) <= {UNSUPPORTED}
    return Statement(
        what=what,
        verdict=_verdict(rated, failed, weak) + "".join(doubts),
        mark="bad" if not sound else "doubt" if any(doubts) else "good",
    )


def kinds(cells: Sequence[Cell]) -> int:
    """Return the number of kinds of catch-up rates, by conditions; only equal kinds have ratios."""
    return len({cell.conditions for cell in cells if cell.throughput_eps is not None})


def _kinds(cells: Sequence[Cell]) -> str:
    n = kinds(cells)
    return (
        f" Its rates are of {n} kinds, by unit of hand-over, origin of the input and other "
        "timed work; only rates of one kind have a ratio."
        if n > 1
        else ""
    )


def _mark_words(marked: Counter[str]) -> str:
    """State the number of cells whose numbers need a verdict's mark."""
    if not marked:
        return ""
    each = ", ".join(f"{n} {status} ({sign(status)})" for status, n in sorted(marked.items()))
    return f" Under the offered load, not every cell kept up or was steady: {each}."


def _rest(missing: Sequence[str], complete: bool) -> str:
    if missing:
        return f" The run is incomplete: {number_of(len(missing), 'cell')} not run yet."
    return "" if complete else " The run is incomplete: some repetitions are missing."


def _verdict(rated: int, failed: Counter[str], weak: int) -> str:
    """State which numbers are verified; `weak` cells were compared with the reference engine."""
    expected = "the expected answers" if weak else "the oracle's"
    if weak == rated:
        against = f" The answers were {BY_REFERENCE}."
    else:
        against = f" Those of {number_of(weak, 'cell')} were {BY_REFERENCE}."
    return _right(rated, failed, expected) + (against if weak and rated else "")


def _right(rated: int, failed: Counter[str], expected: str) -> str:
    without = ", ".join(f"{n} {status}" for status, n in sorted(failed.items()))
    if not failed:
        return f"Every answer was compared with {expected} after the timed part, and all are right."
    if not rated:
        return f"No cell has a verified number: {without}."
    have = "has" if failed.total() == 1 else "have"
    return (
        f"All answers of the {number_of(rated, 'cell')} with numbers equal {expected}; "
        f"{number_of(failed.total(), 'cell')} {have} no number: {without}."
    )


def _list_names(names: Sequence[str], noun: str) -> str:
    distinct = list(dict.fromkeys(names))
    return f"{number_of(len(distinct), noun)} ({', '.join(distinct)})"


def _or_range(workers: Sequence[int]) -> str:
    if len(workers) > 4:
        return f"{workers[0]} to {workers[-1]} workers"
    text = ", ".join(map(str, workers[:-1]))
    text = f"{text} and {workers[-1]}" if text else str(workers[-1])
    return f"{text} worker{'' if workers == [1] else 's'}"
