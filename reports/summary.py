"""Summarises the trials of a run by cell: median over repetitions, minimum, maximum and n."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

Trial = Mapping[str, Any]

STATUSES = ("wrong_output", "invalid", "crash", "oom", "timeout", "unsupported", "ok")
"""Every status of a trial, the one that says most about a cell first."""

_VOIDING = ("wrong_output", "invalid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The repetitions of one quantity. `values` are in order of repetition and never empty."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """Return the middle value, or the mean of the two middle ones."""
        return float(median(self.values))

    @property
    def low(self) -> float:
        """Return the smallest value."""
        return min(self.values)

    @property
    def high(self) -> float:
        """Return the largest value."""
        return max(self.values)

    @property
    def n(self) -> int:
        """Return the number of repetitions."""
        return len(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of the matrix with all its repetitions.

    A quantity is None where no verified repetition has it. One repetition with a wrong answer voids
    the numbers of the whole cell: what is sometimes wrong has no speed.

    Attributes:
        name: the cell's id.
        engine, variant, workload, dataset, workers, batch: its place in the matrix; `batch` is None
            for variants without the notion.
        status: the one that says most about the cell (see `STATUSES`).
        statuses: how many trials ended with which status.
        reasons: the distinct reasons of trials that are not ok.
        notes: the distinct remarks on trials that are ok.
        cpu_s_per_million: CPU seconds of the process tree per million input events.
        latency_definition: from what to what latencies were measured.
        plan: the synchronization plan, or the engine's own, as text.
        properties: `{"PIP1": {"holds": bool, "why": str}, ...}`.
        counters: engine-specific figures of the first verified repetition.
    """

    name: str
    workload: str
    engine: str
    variant: str
    workers: int
    batch: int | None
    dataset: str
    oversubscribed: bool
    status: str
    statuses: Mapping[str, int]
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    events: int | None
    throughput_eps: Spread | None
    latency_p50_ns: Spread | None
    latency_p90_ns: Spread | None
    latency_p99_ns: Spread | None
    latency_max_ns: Spread | None
    latency_definition: str
    cpu_s_per_million: Spread | None
    peak_rss_bytes: Spread | None
    startup_s: Spread | None
    prepare_s: Spread | None
    plan: str
    properties: Mapping[str, Any]
    counters: Mapping[str, Any]

    @property
    def series(self) -> tuple[str, str, int | None]:
        """Return what a line in a figure joins: the same engine, variant and batch."""
        return (self.engine, self.variant, self.batch)


def summarise(trials: Iterable[Trial]) -> tuple[Cell, ...]:
    """Group trials by cell, in the order in which the cells appear first."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(str(trial["cell"]), []).append(trial)
    return tuple(_cell(name, group) for name, group in groups.items())


def _cell(name: str, trials: list[Trial]) -> Cell:
    trials = sorted(trials, key=lambda trial: int(trial.get("repetition") or 0))
    first = trials[0]
    counts = {s: sum(t["status"] == s for t in trials) for s in {str(t["status"]) for t in trials}}
    status = min(counts, key=lambda s: STATUSES.index(s) if s in STATUSES else -1)
    ok = [] if status in _VOIDING else [t for t in trials if t["status"] == "ok"]
    if ok and status != "ok":
        status = "ok"  # numbers are shown with their n; `statuses` tells of the trials that failed
    batch = first.get("batch")
    return Cell(
        name=name,
        workload=str(first["workload"]),
        engine=str(first["engine"]),
        variant=str(first["variant"] or ""),
        workers=int(first["workers"]),
        batch=None if batch is None else int(batch),
        dataset=_text(trials, "dataset"),
        oversubscribed=any(bool(t.get("oversubscribed")) for t in trials),
        status=status,
        statuses={s: counts[s] for s in sorted(counts)},
        reasons=_distinct(t.get("reason") for t in trials if t["status"] != "ok"),
        notes=_distinct(t.get("reason") for t in trials if t["status"] == "ok"),
        events=next((int(t["events"]) for t in trials if t.get("events") is not None), None),
        throughput_eps=_spread(ok, "throughput_eps"),
        latency_p50_ns=_spread(ok, "latency_p50_ns"),
        latency_p90_ns=_spread(ok, "latency_p90_ns"),
        latency_p99_ns=_spread(ok, "latency_p99_ns"),
        latency_max_ns=_spread(ok, "latency_max_ns"),
        latency_definition=_text(ok, "latency_definition"),
        cpu_s_per_million=_cpu(ok),
        peak_rss_bytes=_spread(ok, "peak_rss_bytes"),
        startup_s=_spread(ok, "startup_s"),
        prepare_s=_spread(ok, "prepare_s"),
        plan=_text(trials, "plan"),
        properties=_json(_text(trials, "properties")),
        counters=_json(_text(ok, "counters")),
    )


def _spread(trials: list[Trial], column: str) -> Spread | None:
    values = tuple(float(t[column]) for t in trials if t.get(column) is not None)
    return Spread(values=values) if values else None


def _cpu(trials: list[Trial]) -> Spread | None:
    values = tuple(
        float(t["cpu_s"]) / int(t["events"]) * 1e6
        for t in trials
        if t.get("cpu_s") is not None and t.get("events")
    )
    return Spread(values=values) if values else None


def _text(trials: list[Trial], column: str) -> str:
    return next((str(t[column]) for t in trials if t.get(column)), "")


def _distinct(texts: Iterable[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(text) for text in texts if text))


def _json(text: str) -> Mapping[str, Any]:
    value = json.loads(text) if text else {}
    return value if isinstance(value, dict) else {"value": value}
