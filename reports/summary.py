"""Reads the cells of a run for tables and figures: numbers of verified cells, texts of all."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streamlab.reports.conditions import Conditions, conditions_of
from streamlab.reports.offered_loads import Offered, offered
from streamlab.results.query import CellSummary, Spread, by_cell, spread_of
from streamlab.results.schema import OK, VERIFIED
from streamlab.results.store import Row

ORACLE, REFERENCE = "oracle", "reference engine"
"""What an answer was compared with; a run of an older lab, which does not say, had an oracle."""

BY_REFERENCE = "checked against the reference engine, not an independent oracle"

LONGEST_LABEL = 40
"""Characters beside a workload's name; more than that is in the stored rows only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of the matrix with all its repetitions.

    A quantity is None where the cell has none. One repetition without a verified number voids the
    numbers of the whole cell (`streamlab.results.query`): what sometimes fails or is wrong has no speed.

    Attributes:
        name: the cell's id.
        engine, variant, workload, label, dataset, workers, batch: its place in the matrix; `label`
            tells apart several inputs of one workload, and has its query parameters; it may be
            empty; `batch` is None for variants without the notion.
        tag: the label of the engine's table, which tells apart cells that differ in options only;
            mostly empty.
        conditions: what its rate includes; None where its engine declares none, or where its trials
            differ.
        status: the worst of its trials.
        checked_by: what its answers were compared with: `REFERENCE` where one of them was.
        statuses: how many trials ended with which status.
        load: what was offered, and how it went; None for catch-up.
        reasons: the distinct reasons of trials that are not ok.
        notes: the distinct remarks on trials that are ok.
        untimed_s: time for which the engine worked outside the clock: preparation, and taking the
            answer.
        cpu_s_per_million: CPU seconds of the process tree per million input events.
        latency_definition: from what to what latencies were measured.
        plan: the synchronization plan, or the engine's own, as text.
        properties: `{"PIP1": {"holds": bool, "why": str}, ...}`.
        expected_outputs: records of the oracle's answer, the fewest of any trial; None: unknown.
        counters: the engine's own, by name (`streamlab.reports.counters`).
    """

    name: str
    workload: str
    label: str
    engine: str
    variant: str
    tag: str
    workers: int
    batch: int | None
    dataset: str
    conditions: Conditions | None
    oversubscribed: bool
    status: str
    checked_by: str
    statuses: Mapping[str, int]
    load: Offered | None
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    events: int | None
    expected_outputs: int | None
    throughput_eps: Spread | None
    latency_p50_ns: Spread | None
    latency_p90_ns: Spread | None
    latency_p99_ns: Spread | None
    latency_p999_ns: Spread | None
    latency_max_ns: Spread | None
    latency_definition: str
    cpu_s_per_million: Spread | None
    peak_rss_bytes: Spread | None
    duration_s: Spread | None
    untimed_s: Spread | None
    plan: str
    properties: Mapping[str, Any]
    counters: Mapping[str, Spread]

    @property
    def verified(self) -> bool:
        """Tell whether the cell has numbers: every answer was right and every clock honest."""
        return self.status in VERIFIED

    @property
    def series(self) -> tuple[str, str, int | None, str]:
        """Return what a line in a figure joins: the same engine, variant, batch and tag."""
        return (self.engine, self.variant, self.batch, self.tag)


def summarise(rows: Iterable[Row]) -> tuple[Cell, ...]:
    """Group trials by cell, in the order in which the cells appear first."""
    return tuple(_cell(summary) for summary in by_cell(rows))


def _cell(summary: CellSummary) -> Cell:
    rows = sorted(summary.rows, key=lambda row: row["repetition"])
    ok = rows if summary.status in VERIFIED else []
    return Cell(
        name=summary.cell,
        workload=summary.workload,
        label=_label(summary),
        engine=summary.engine,
        variant=summary.variant or "",
        tag=_tag(summary),
        workers=summary.workers,
        batch=summary.batch,
        dataset=summary.dataset or "",
        conditions=_conditions(rows),
        oversubscribed=summary.oversubscribed,
        status=summary.status,
        checked_by=checked_by(rows),
        statuses=dict(sorted(Counter(row["status"] for row in rows).items())),
        load=offered(rows, verified=summary.status in VERIFIED),
        reasons=_distinct(_reason(row) for row in rows if row["status"] != OK),
        notes=_distinct(row["reason"] for row in rows if row["status"] == OK),
        events=next((row["events"] for row in rows if row["events"] is not None), None),
        expected_outputs=_fewest(row["expected_outputs"] for row in rows),
        throughput_eps=spread_of(ok, "throughput_eps"),
        latency_p50_ns=spread_of(ok, "latency_p50_ns"),
        latency_p90_ns=spread_of(ok, "latency_p90_ns"),
        latency_p99_ns=spread_of(ok, "latency_p99_ns"),
        latency_p999_ns=spread_of(ok, "latency_p999_ns"),
        latency_max_ns=spread_of(ok, "latency_max_ns"),
        latency_definition=_text(ok, "latency_definition"),
        cpu_s_per_million=_cpu(ok),
        peak_rss_bytes=spread_of(ok, "peak_rss_bytes"),
        duration_s=spread_of(ok, "duration_s"),
        untimed_s=_untimed(ok),
        plan=_text(rows, "plan"),
        properties=_json(_text(rows, "properties")),
        counters=_counters(ok),
    )


def checked_by(rows: Iterable[Row]) -> str:
    """Return the weaker of what the answers of trials were compared with."""
    return REFERENCE if any(row.get("checked_by") == REFERENCE for row in rows) else ORACLE


def cells_by_reference(rows: Iterable[Row]) -> list[str]:
    """Return the cells that have an answer which the reference engine alone vouches for."""
    return list(dict.fromkeys(row["cell"] for row in rows if checked_by([row]) == REFERENCE))


def rounded_answers(rows: Iterable[Row]) -> dict[str, str]:
    """Return by workload how floats that may differ were compared, in the furthest trial."""
    found = [row for row in rows if row.get("float_deviation") is not None]
    found.sort(key=lambda row: float(row["float_deviation"]))
    return {str(row["workload"]): str(row["floats"]) for row in found}


def _conditions(rows: list[Row]) -> Conditions | None:
    found = {conditions_of(row) for row in rows}
    return found.pop() if len(found) == 1 else None


def _reason(row: Row) -> str:
    """Return why a trial has no number, with the difference from the oracle where there is one."""
    reason, difference = (str(row[column] or "") for column in ("reason", "difference"))
    if reason in difference:
        return difference
    return reason if difference in reason else f"{reason}\n{difference}"


def _cpu(rows: list[Row]) -> Spread | None:
    values = tuple(
        row["cpu_s"] / row["events"] * 1e6
        for row in rows
        if row["cpu_s"] is not None and row["events"]
    )
    return Spread(values=values) if values else None


def _untimed(rows: list[Row]) -> Spread | None:
    values = tuple(
        (row["prepare_s"] or 0.0) + (row.get("answer_s") or 0.0)
        for row in rows
        if row["prepare_s"] is not None
    )
    return Spread(values=values) if values else None


def _counters(rows: list[Row]) -> dict[str, Spread]:
    values: dict[str, list[float]] = {}
    for row in rows:
        for name, value in _json(row.get("counters") or "").items():
            if isinstance(value, int | float) and math.isfinite(value):  # older labs stored nan
                values.setdefault(name, []).append(float(value))
    return {name: Spread(values=tuple(found)) for name, found in values.items()}


def _fewest(counts: Iterable[int | None]) -> int | None:
    return min((count for count in counts if count is not None), default=None)


def _text(rows: list[Row], column: str) -> str:
    return next((str(row[column]) for row in rows if row[column]), "")


def _distinct(texts: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _json(text: str) -> Mapping[str, Any]:
    value = json.loads(text) if text else {}
    return value if isinstance(value, dict) else {"value": value}


def _tag(summary: CellSummary) -> str:
    """Return the label of the engine's table: what of the id is neither place nor load."""
    places = 4 + (summary.batch is not None)  # workload, engine, variant, workers, batch
    rest = summary.cell.split("/")[places:]
    load = summary.rows[0].get("load_label")
    return "/".join(rest[:-1] if load else rest)


def _label(summary: CellSummary) -> str:
    """Return what tells the cell's input apart, and its query parameters where there is room."""
    query = json.loads(summary.rows[0].get("workload_query") or "{}")
    parts = [summary.label or "", *(f"{name} {value}" for name, value in query.items())]
    text = ", ".join(filter(None, parts))
    return text if len(text) <= LONGEST_LABEL else summary.label or ""
