"""Summarizes a run and its cells for tables and figures; only verified cells have numbers."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from streamlab.engines.conditions import (
    BROKER,
    FILE,
    GENERATOR,
    MICRO_BATCH,
    NOTHING,
    RECORD,
    SOCKET,
    WHOLE,
)
from streamlab.reports.engine_traits import variant_label
from streamlab.reports.numbers import unit_words
from streamlab.reports.offered_loads import OfferedLoad, load_of
from streamlab.results.query import CellSummary, Spread, by_cell, spread, spread_of
from streamlab.results.schema import MEASURED, OK, UNCHECKED, TrialRow
from streamlab.results.store import Run

ORACLE, REFERENCE, INVARIANTS = "oracle", "reference engine", "invariants"
"""Origins of the right answer. Runs of older labs record no origin; they always had an oracle."""

BY_REFERENCE = "checked against the reference engine, not an independent oracle"
BY_INVARIANTS = "checked by invariants, such as totals over all windows, not against an answer"
BY_NOTHING = "measured by another program and imported, and never checked"
WITHOUT_ORACLE = {UNCHECKED: BY_NOTHING, INVARIANTS: BY_INVARIANTS, REFERENCE: BY_REFERENCE}
"""Description of each origin other than an oracle, weakest first."""

_MEASURED = (
    *("throughput_eps", "latency_p50_ns", "latency_p90_ns", "latency_p99_ns", "latency_p999_ns"),
    *("latency_max_ns", "peak_rss_bytes", "duration_s"),
)
"""Columns that are summarized as spreads; the attributes of `Cell` have the same names."""

_UNIT_WORDS = {
    RECORD: unit_words(1),
    MICRO_BATCH: "micro-batches",
    WHOLE: "the whole input at once",
}

_ORIGIN_WORDS = {FILE: "files", SOCKET: "a socket", GENERATOR: "a generator", BROKER: "a broker"}

LONGEST_LABEL = 40
"""Maximum length of a label; longer query parameters are only in the stored rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The conditions of a rate, as the engine declares them (`streamlab.engines.conditions`).

    Attributes:
        unit: unit of hand-over with its size, in words: `one event at a time`, `blocks of 4,096`.
        origin: place of the input when the clock started.
        also_timed: timed work besides the program; `nothing` without such work.
        cluster: kind and nodes of the cluster; empty on the lab's machine.
    """

    unit: str
    origin: str
    also_timed: str
    cluster: str = ""

    def __str__(self) -> str:
        timed = "" if self.also_timed == NOTHING else f"; also timed: {self.also_timed}"
        place = f"; on {self.cluster}" if self.cluster else ""
        return f"{self.unit}, from {_ORIGIN_WORDS.get(self.origin, self.origin)}{timed}{place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of the matrix, summarized over its repetitions.

    Missing quantities are None. If one repetition has no verified number, the whole cell has none
    (`streamlab.results.query`): a cell that sometimes fails or is wrong has no speed.

    Attributes:
        name: the cell's id.
        engine, variant, workload, label, dataset, workers, batch: the cell's place in the matrix.
            `label` distinguishes inputs of one workload, and has the query parameters; it may be empty.
            `batch` is None for variants without batches.
        tag: label of the engine's table in the matrix, which distinguishes cells that differ only in
            options; mostly empty.
        conditions: the conditions of the rate; None if the engine declares none, or the trials differ.
        status: the worst status of the trials.
        checked_by: the weakest origin of the right answers.
        statuses: number of trials by status.
        load: the offered load with its measurements; None for catch-up.
        reasons: distinct reasons of trials that are not ok.
        notes: distinct reasons of trials that are ok but doubtful.
        untimed_s: time of the engine's work outside the clock: preparation, and taking the answer.
        cpu_s_per_million: CPU seconds of the process tree per million input events.
        latency_definition: where latencies begin and end.
        plan: the synchronization plan, or the engine's own plan, as text.
        properties: `{"PIP1": {"holds": bool, "why": str}, ...}`.
        expected_outputs: number of records in the oracle's answer, the minimum over the trials; None: unknown.
        counters: the engine's own counters by name (`streamlab.reports.counters`).
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
    load: OfferedLoad | None
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
    properties: Mapping[str, object]
    counters: Mapping[str, Spread]

    @property
    def has_numbers(self) -> bool:
        """Whether the cell has numbers: it was imported, or all its answers were right and its clocks consistent."""
        return self.status in MEASURED

    @property
    def engine_label(self) -> str:
        """The name of the engine and variant for readers, with the label of the matrix table if there is one."""
        label = variant_label(self.engine, self.variant)
        return f"{label} ({self.tag})" if self.tag else label

    @property
    def series(self) -> tuple[str, str, int | None, str]:
        """The key that identifies a line in a figure: engine, variant, batch and tag."""
        return (self.engine, self.variant, self.batch, self.tag)


def summarise(rows: Iterable[TrialRow]) -> tuple[Cell, ...]:
    """Group trials by cell, in the order in which the cells first appear."""
    return tuple(_make_cell(summary) for summary in by_cell(rows))


def _make_cell(summary: CellSummary) -> Cell:
    rows = sorted(summary.rows, key=lambda row: row.repetition)
    ok = rows if summary.status in MEASURED else []
    return Cell(
        name=summary.cell,
        workload=summary.workload,
        label=_input_label(summary),
        engine=summary.engine,
        variant=summary.variant or "",
        tag=_engine_tag(summary),
        workers=summary.workers,
        batch=summary.rows[0].batch,
        dataset=summary.rows[0].dataset or "",
        conditions=_common_conditions(rows),
        oversubscribed=bool(summary.rows[0].oversubscribed),
        status=summary.status,
        checked_by=checked_by(rows),
        statuses=dict(sorted(Counter(row.status for row in rows).items())),
        load=load_of(rows, verified=summary.status in MEASURED),
        reasons=_distinct(_describe_failure(row) for row in rows if row.status != OK),
        notes=_distinct(row.reason for row in rows if row.status == OK),
        events=next((row.events for row in rows if row.events is not None), None),
        expected_outputs=min(
            (row.expected_outputs for row in rows if row.expected_outputs is not None), default=None
        ),
        **{name: spread_of(ok, name) for name in _MEASURED},
        latency_definition=_first_text(ok, "latency_definition"),
        cpu_s_per_million=spread(
            row.cpu_s / row.events * 1e6 for row in ok if row.cpu_s is not None and row.events
        ),
        untimed_s=spread(
            row.prepare_s + (row.answer_s or 0.0) for row in ok if row.prepare_s is not None
        ),
        plan=_first_text(rows, "plan"),
        properties=_parse_json(_first_text(rows, "properties")),
        counters=_collect_counters(ok),
    )


def conditions_of(row: TrialRow) -> Conditions | None:
    """Return the conditions of a trial; None if its engine, or an older lab, declared none."""
    unit, origin, also_timed = row.unit, row.origin, row.also_timed
    if unit is None or origin is None or also_timed is None:
        return None
    words = _UNIT_WORDS.get(unit) or unit_words(row.batch) or unit
    return Conditions(unit=words, origin=origin, also_timed=also_timed, cluster=_cluster_words(row))


def _cluster_words(row: TrialRow) -> str:
    """Return the cluster of a trial in words, such as `spark standalone, 2 nodes of 1 core`."""
    if row.cluster is None or row.node_cores is None:
        return ""
    cores = row.node_cores.split(", ")
    sizes = " + ".join(dict.fromkeys(cores))
    nodes = f"{len(cores)} node{'s' * (len(cores) > 1)}"
    fault = "" if row.fault is None else f", {row.fault}"
    return f"{row.cluster}, {nodes} of {sizes} core{'s' * (sizes != '1')}{fault}"


def start_time(run: Run) -> str:
    """Return the start of a run, UTC, ISO 8601; the run's name if run.json lacks it."""
    first = run.meta.sessions[0].started_at if run.meta.sessions else None
    return first or run.path.name


def code_of(run: Run) -> str:
    """Return the commit of a run, and whether the source had changes."""
    vcs = run.meta.vcs
    dirty = " with changes" if vcs.dirty_diff_sha256 else ""
    return f"{(vcs.commit or 'no commit')[:12]}{dirty}"


def checked_by(rows: Iterable[TrialRow]) -> str:
    """Return the weakest origin of right answers."""
    origins = {row.checked_by for row in rows}
    return next((origin for origin in WITHOUT_ORACLE if origin in origins), ORACLE)


def cells_without_oracle(rows: Iterable[TrialRow]) -> dict[str, str]:
    """Return, for each cell without an oracle, how its answers were checked."""
    return {
        row.cell: WITHOUT_ORACLE[origin]
        for row in rows
        if (origin := checked_by([row])) in WITHOUT_ORACLE
    }


def rounded_answers(rows: Iterable[TrialRow]) -> dict[str, str]:
    """Return, by workload, how inexact floats were compared in the trial with the largest deviation."""
    inexact = [row for row in rows if row.float_deviation is not None]
    inexact.sort(key=lambda row: row.float_deviation or 0.0)
    return {row.workload: str(row.floats) for row in inexact}


def _common_conditions(rows: list[TrialRow]) -> Conditions | None:
    distinct = {conditions_of(row) for row in rows}
    return distinct.pop() if len(distinct) == 1 else None


def _describe_failure(row: TrialRow) -> str:
    """Return why a trial has no number, with the difference from the oracle's answer, if any."""
    reason, difference = (str(getattr(row, column) or "") for column in ("reason", "difference"))
    if reason in difference:
        return difference
    return reason if difference in reason else f"{reason}\n{difference}"


def _collect_counters(rows: list[TrialRow]) -> dict[str, Spread]:
    values: dict[str, list[float]] = {}
    for row in rows:
        for name, value in _parse_json(row.counters or "").items():
            if isinstance(value, int | float) and math.isfinite(value):  # older labs stored nan
                values.setdefault(name, []).append(float(value))
    return {name: Spread(values=tuple(numbers)) for name, numbers in values.items()}


def _first_text(rows: list[TrialRow], column: str) -> str:
    return next((str(text) for row in rows if (text := getattr(row, column))), "")


def _distinct(texts: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _parse_json(text: str) -> Mapping[str, object]:
    value = json.loads(text) if text else {}
    return value if isinstance(value, dict) else {"value": value}


def _engine_tag(summary: CellSummary) -> str:
    """Return the label of the engine's table in the matrix: the part of the cell's id before the load's label."""
    if not summary.variant:  # imported: the id is the benchmark's name in another tool
        return ""
    places = 4 + (summary.rows[0].batch is not None)  # workload, engine, variant, workers, batch
    remaining = summary.cell.split("/")[places:]
    load = summary.rows[0].load_label
    return "/".join(remaining[:-1] if load else remaining)


def _input_label(summary: CellSummary) -> str:
    """Return the label of the cell's input, with its query parameters if there is room."""
    query = json.loads(summary.rows[0].workload_query or "{}")
    parts = [summary.label or "", *(f"{name} {value}" for name, value in query.items())]
    text = ", ".join(filter(None, parts))
    return text if len(text) <= LONGEST_LABEL else summary.label or ""
