"""Counts the warnings of a run, and finds cells whose trials differ by more than the usual noise."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from streamlab.reports.engine_traits import variant_label
from streamlab.results.meta import RunMeta
from streamlab.results.query import Spread, by_cell
from streamlab.results.schema import OK, TrialRow

MAX_NAMED = 6
"""Maximum number of engine variants that a warning names; further variants are only counted."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

FEWEST_TRIALS = 3
"""Minimum number of trials of a cell for a warning about their difference."""
LEAST_DIFFERENCE = 0.3
"""Minimum difference between slowest and fastest trial for a warning; smaller ones are usual on shared machines."""
TIMES_NOISE = 4.0
"""Minimum ratio, for a warning, of a cell's difference to the median difference in the run's other cells."""
NOISE_ALONE = 0.125
"""Assumed median difference in a run with fewer than two other cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWarning:
    """A warning of one or more trials.

    Attributes:
        text: the text, with ranges for numbers that differ between trials.
        trials: number of affected trials.
        where: engine variants with the number of affected trials, larger shares first; empty if all
            trials are affected or the run has only one variant.
    """

    text: str
    trials: int
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The highest rate of a kind of generator; `eps` is None if unknown, or for a virtual source."""

    source: str
    eps: float | None
    reason: str


def warnings_of(rows: Iterable[TrialRow]) -> tuple[RunWarning, ...]:
    """Return warnings about cells with unequal trials, then the trials' own warnings by frequency.

    Texts that differ only in numbers, such as load averages, become one text with ranges.
    """
    rows = tuple(rows)
    texts: dict[str, dict[str, None]] = {}
    trials: dict[str, Counter[str]] = {}
    totals: Counter[str] = Counter()
    for row in rows:
        variant = variant_label(row.engine, row.variant or "")
        totals[variant] += 1
        texts_of_row = json.loads(row.warnings) if row.warnings else []
        for kind in dict.fromkeys(map(_mask_numbers, texts_of_row)):
            trials.setdefault(kind, Counter())[variant] += 1
        for text in texts_of_row:
            texts.setdefault(_mask_numbers(text), {})[str(text)] = None
    ordered = sorted(texts, key=lambda kind: -trials[kind].total())
    unequal = (
        RunWarning(text=text, trials=count, where="")
        for text, count in unequal_trials(rows).items()
    )
    return (
        *unequal,
        *(
            RunWarning(
                text=_merge_texts(tuple(texts[kind])),
                trials=trials[kind].total(),
                where=_describe_variants(trials[kind], totals),
            )
            for kind in ordered
        ),
    )


def unequal_trials(rows: Iterable[TrialRow]) -> dict[str, int]:
    """Return a warning for each cell whose verified trials differ too much, with the number of trials.

    The usual noise is the median, over the run's other cells, of the difference between slowest and fastest
    trial. Excludes trials under a load, which all last as long as the load.
    """
    cells = {
        summary.cell: Spread(values=tuple(row.duration_s or 0.0 for row in summary.rows))
        for summary in by_cell(row for row in rows if not row.load)
        if len(summary.rows) >= FEWEST_TRIALS
        and all(row.status == OK and row.duration_s for row in summary.rows)
    }
    differences = {name: spread.high / spread.low - 1 for name, spread in cells.items()}
    warnings = {}
    for name, spread in cells.items():
        others = [share for other, share in differences.items() if other != name]
        noise = median(others) if len(others) > 1 else NOISE_ALONE
        if differences[name] > max(LEAST_DIFFERENCE, TIMES_NOISE * noise):
            noise_text = f", trials of other cells by {noise:.0%}" if len(others) > 1 else ""
            text = (
                f"{name}: its {spread.n} trials took {spread.low:.3g} to {spread.high:.3g} s and "
                f"differ by {differences[name]:.0%}{noise_text}: look for state that persists from trial to "
                "trial, and for other load on the machine"
            )
            warnings[text] = spread.n
    return warnings


def ceilings(meta: RunMeta) -> tuple[Ceiling, ...]:
    """Return the ceilings of the generators, as recorded in run.json."""
    return tuple(
        Ceiling(source=name, eps=ceiling.ceiling_eps, reason=ceiling.reason or "")
        for name, ceiling in meta.generators.items()
    )


def _describe_variants(affected: Counter[str], totals: Counter[str]) -> str:
    if len(totals) == 1 or affected == totals:
        return ""
    names = sorted(affected, key=lambda name: (-affected[name] / totals[name], -affected[name]))
    shown = [f"{name} {affected[name]} of {totals[name]}" for name in names[:MAX_NAMED]]
    hidden = len(names) - len(shown)
    return ", ".join(shown) + (f", {hidden} more variant{'s' * (hidden > 1)}" if hidden else "")


def _mask_numbers(text: object) -> str:
    return _NUMBER.sub("\0", str(text))


def _merge_texts(texts: Sequence[str]) -> str:
    """Merge texts that differ only in numbers; a number that differs becomes a range such as `1.2 to 3.4`."""
    ranges = (_range_of(column) for column in zip(*map(_NUMBER.findall, texts), strict=True))
    return _NUMBER.sub(lambda _: next(ranges), texts[0])


def _range_of(numbers: Sequence[str]) -> str:
    ordered = sorted(numbers, key=_parse_number)
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"


def _parse_number(number: str) -> float:
    try:
        return float(number.replace(",", ""))
    except ValueError:  # a version, such as 3.13.1
        return 0.0
