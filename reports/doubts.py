"""Counts the warnings of a run: what was doubtful about the machine, and how often."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from results.store import Row

_NUMBER = re.compile(r"\d[\d.,]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """A warning.

    Attributes:
        text: as it was first given.
        alike: further texts that differ in their numbers alone.
        trials: how many trials it concerns; 0: it is about the run.
    """

    text: str
    alike: tuple[str, ...]
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """What a kind of generator can do; `eps` None: unknown for `reason`, or a virtual source."""

    source: str
    eps: float | None
    reason: str


def doubts(rows: Iterable[Row]) -> tuple[Doubt, ...]:
    """Return the distinct warnings of trials, the most frequent first.

    Texts that differ in numbers alone count as one: a load average is never twice the same.
    """
    texts: dict[str, dict[str, None]] = {}
    trials: dict[str, int] = {}
    for row in rows:
        found = json.loads(row["warnings"]) if row["warnings"] else []
        for kind in dict.fromkeys(map(_kind, found)):
            trials[kind] = trials.get(kind, 0) + 1
        for text in found:
            texts.setdefault(_kind(text), {})[str(text)] = None
    ordered = sorted(texts, key=lambda kind: -trials[kind])
    return tuple(
        Doubt(text=next(iter(texts[kind])), alike=tuple(texts[kind])[1:], trials=trials[kind])
        for kind in ordered
    )


def ceilings(meta: Mapping[str, Any]) -> tuple[Ceiling, ...]:
    """Return the ceilings of generators that run.json holds."""
    return tuple(
        Ceiling(source=name, eps=one.get("ceiling_eps"), reason=one.get("reason") or "")
        for name, one in (meta.get("generators") or {}).items()
    )


def _kind(text: object) -> str:
    return _NUMBER.sub("#", str(text))
