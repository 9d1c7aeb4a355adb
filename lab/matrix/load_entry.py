"""Defines a `[load]` table of a matrix, and expands it into loads: one rate, several, or a search."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamlab.engines.protocol import ADAPTIVE
from streamlab.lab.load.spec import ARRIVALS, CONSTANT, REPLAY, SEND_LAG_MS, LoadSpec

CATCH_UP = "catch-up"
OPEN = "open"
SEARCH = "sustainable"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Settings of a search for the sustainable rate; defaults from docs/method.md.

    Attributes:
        start_eps: first rate; doubled until one fails, halved while it fails.
        tolerance: the search narrows [highest pass, lowest fail] to this share of the lower end.
        votes: fresh processes for each probe, whose majority decides; a probe ends once the majority is
            certain.
        confirmations: fresh processes in which the resulting rate must hold; if it fails, the search lowers
            the rate by `tolerance` and tries again.
        levels: shares of the resulting rate at which latency is measured.
        max_eps: highest rate to try; None: limited only by the input's length.
    """

    start_eps: float = 10_000.0
    tolerance: float = 0.02
    votes: int = 3
    confirmations: int = 5
    levels: tuple[float, ...] = (0.1, 0.5, 0.8, 0.9, 0.95)
    level_repetitions: int = 1
    max_eps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadEntry:
    """A `[load]` table, or one of several `[[load]]` tables; a matrix without any runs catch-up.

    Attributes:
        mode: CATCH_UP, OPEN (each rate of `rates_eps` is a cell) or SEARCH.
        label: last part of the cells' ids; default: empty for catch-up, `<arrival>-<rate>` for open loads
            (`constant-1M`), `sustainable` for a search.
        rates_eps: offered rates; empty for `replay` and for a search.
        engines: patterns on an engine's name, or on `name/variant`; None: all.
        workloads: patterns as in `[[engine]]`; None: all.
        The other attributes are those of `LoadSpec`.
    """

    mode: str
    label: str | None = None
    arrival: str = CONSTANT
    rates_eps: tuple[float, ...] = ()
    warm_up_s: float = 10.0
    window_s: float = 60.0
    seed: int = 1
    batching: str = ADAPTIVE
    heartbeat_ms: float = 1.0
    heartbeats_per_barrier: float | None = None
    params: Mapping[str, float] = field(default_factory=dict)
    objective: str | None = None
    send_lag_ms: float = SEND_LAG_MS
    search: SearchSettings | None = None
    engines: tuple[str, ...] | None = None
    workloads: tuple[str, ...] | None = None


def specs(entry: LoadEntry) -> tuple[tuple[str, LoadSpec], ...]:
    """Return the loads of an entry, each with the last part of its cells' ids.

    Open loads: one for each rate, with an id such as `constant-1M` or `replay-x10`; with a label, the id is the label,
    plus the rate if there are several (`day-1M`).
    A search: one load without a rate.
    Catch-up: no load.
    """
    if entry.mode == CATCH_UP:
        return ()
    if entry.mode == SEARCH:
        return ((entry.label or SEARCH, _spec(entry, None)),)
    if entry.arrival == REPLAY:
        speed_up = {**ARRIVALS[REPLAY], **entry.params}["speed_up"]
        return ((entry.label or f"{REPLAY}-x{speed_up:.12g}", _spec(entry, None)),)
    first = entry.label or entry.arrival
    return tuple(
        (
            first if entry.label and len(entry.rates_eps) == 1 else f"{first}-{_short(rate_eps)}",
            _spec(entry, rate_eps),
        )
        for rate_eps in entry.rates_eps
    )


def _spec(entry: LoadEntry, rate_eps: float | None) -> LoadSpec:
    return LoadSpec(
        arrival=entry.arrival,
        rate_eps=rate_eps,
        warm_up_s=entry.warm_up_s,
        window_s=entry.window_s,
        seed=entry.seed,
        batching=entry.batching,
        heartbeat_ms=entry.heartbeat_ms,
        heartbeats_per_barrier=entry.heartbeats_per_barrier,
        params={**ARRIVALS[entry.arrival], **entry.params},
        objective=entry.objective,
        send_lag_ms=entry.send_lag_ms,
    )


def _short(rate_eps: float) -> str:
    """Return a rate as a unique text such as `1M`, `250k` or `12.5`."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate_eps >= unit:
            return f"{rate_eps / unit:.12g}{letter}"
    return f"{rate_eps:.12g}"
