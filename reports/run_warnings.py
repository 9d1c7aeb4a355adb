"""Counts the warnings of a run: what was doubtful, how often, and in trials of which engines."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streamlab.reports.unequal_trials import unequal_trials
from streamlab.results.store import Row

MOST_NAMED = 6
"""Engine variants that are named beside a warning; further ones are counted."""
_NUMBER = re.compile(r"\d[\d.,]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWarning:
    """A warning.

    Attributes:
        text: as it was first given.
        alike: further texts that differ in their numbers alone.
        trials: how many trials it concerns.
        where: engine variants and how many trials of each it concerns, the larger shares first;
            empty where that tells nothing: it concerns all trials, or there is one variant.
    """

    text: str
    alike: tuple[str, ...]
    trials: int
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """What a kind of generator can do; `eps` None: unknown for `reason`, or a virtual source."""

    source: str
    eps: float | None
    reason: str


def warnings_of(rows: Iterable[Row]) -> tuple[RunWarning, ...]:
    """Return cells with unequal trials, then the distinct warnings of trials by frequency.

    Texts that differ in numbers alone count as one: a load average is never twice the same.
    """
    rows = tuple(rows)
    texts: dict[str, dict[str, None]] = {}
    trials: dict[str, Counter[str]] = {}
    every: Counter[str] = Counter()
    for row in rows:
        variant = f"{row['engine']} {row['variant'] or ''}".strip()
        every[variant] += 1
        found = json.loads(row["warnings"]) if row["warnings"] else []
        for kind in dict.fromkeys(map(_kind, found)):
            trials.setdefault(kind, Counter())[variant] += 1
        for text in found:
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


def ceilings(meta: Mapping[str, Any]) -> tuple[Ceiling, ...]:
    """Return the ceilings of generators that run.json holds."""
    return tuple(
        Ceiling(source=name, eps=one.get("ceiling_eps"), reason=one.get("reason") or "")
        for name, one in (meta.get("generators") or {}).items()
    )


def _where(concerned: Counter[str], every: Counter[str]) -> str:
    if len(every) == 1 or concerned == every:
        return ""
    names = sorted(concerned, key=lambda name: (-concerned[name] / every[name], -concerned[name]))
    shown = [f"{name} {concerned[name]} of {every[name]}" for name in names[:MOST_NAMED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f", {more} more variant{'s' * (more > 1)}" if more else "")


def _kind(text: object) -> str:
    return _NUMBER.sub("#", str(text))
