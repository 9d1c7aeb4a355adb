"""Counts the warnings of a run: their texts, how often each occurs, and in which engines' trials."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from streamlab.reports.unequal_trials import unequal_trials
from streamlab.results.meta import RunMeta
from streamlab.results.schema import TrialRow

MOST_NAMED = 6
"""Most engine variants that a warning names; it counts the others."""
_NUMBER = re.compile(r"\d[\d.,]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWarning:
    """A warning of one or more trials.

    Attributes:
        text: the first text.
        alike: further texts that differ only in numbers.
        trials: number of affected trials.
        where: engine variants with their numbers of affected trials, larger shares first; empty if
            all trials are affected or the run has one variant.
    """

    text: str
    alike: tuple[str, ...]
    trials: int
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The highest rate of a kind of generator; `eps` is None if unknown, or for a virtual source."""

    source: str
    eps: float | None
    reason: str


def warnings_of(rows: Iterable[TrialRow]) -> tuple[RunWarning, ...]:
    """Return warnings of cells with unequal trials, then the trials' own warnings by frequency.

    Texts that differ only in numbers count as one: load averages differ every time.
    """
    rows = tuple(rows)
    texts: dict[str, dict[str, None]] = {}
    trials: dict[str, Counter[str]] = {}
    every: Counter[str] = Counter()
    for row in rows:
        variant = f"{row.engine} {row.variant or ''}".strip()
        every[variant] += 1
        texts_of_row = json.loads(row.warnings) if row.warnings else []
        for kind in dict.fromkeys(map(_kind, texts_of_row)):
            trials.setdefault(kind, Counter())[variant] += 1
        for text in texts_of_row:
            texts.setdefault(_kind(text), {})[str(text)] = None
    ordered = sorted(texts, key=lambda kind: -trials[kind].total())
    unequal = (
        RunWarning(text=text, alike=(), trials=count, where="")
        for text, count in unequal_trials(rows).items()
    )
    return (
        *unequal,
        *(
            RunWarning(
                text=next(iter(texts[kind])),
                alike=tuple(texts[kind])[1:],
                trials=trials[kind].total(),
                where=_where(trials[kind], every),
            )
            for kind in ordered
        ),
    )


def ceilings(meta: RunMeta) -> tuple[Ceiling, ...]:
    """Return the generators' ceilings in run.json."""
    return tuple(
        Ceiling(source=name, eps=ceiling.ceiling_eps, reason=ceiling.reason or "")
        for name, ceiling in meta.generators.items()
    )


def _where(affected: Counter[str], every: Counter[str]) -> str:
    if len(every) == 1 or affected == every:
        return ""
    names = sorted(affected, key=lambda name: (-affected[name] / every[name], -affected[name]))
    shown = [f"{name} {affected[name]} of {every[name]}" for name in names[:MOST_NAMED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f", {more} more variant{'s' * (more > 1)}" if more else "")


def _kind(text: object) -> str:
    return _NUMBER.sub("#", str(text))
