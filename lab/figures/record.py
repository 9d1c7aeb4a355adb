"""Writes a figure: its drawing in several formats, its record in Markdown and JSON, and its trials.

`streamlab.lab.figures.stored_figures` reads the JSON record.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from streamlab.json_value import JsonValue
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.systems import absent
from streamlab.lab.figures.verdict import (
    INCONCLUSIVE,
    INDICATION,
    NOT_COMPARABLE,
    Claim,
    FigureVerdict,
    describe_systems,
)
from streamlab.reports.figures.panel import save_as
from streamlab.reports.figures.paper import subtitle, watermark
from streamlab.reports.numbers import number_of
from streamlab.reports.published import Fact, Facts
from streamlab.reports.run_warnings import warnings_of
from streamlab.results.machines import usable_cores
from streamlab.results.meta import RunMeta
from streamlab.results.schema import TrialRow
from streamlab.results.stats.intervals import CONFIDENCE
from streamlab.results.table import csv_of

FORMATS = ("png", "svg", "pdf", "md")
PAGE = "md"
"""The format of the readable record; the other formats are of the drawing."""

_NOT_IN_TRIALS = frozenset(
    {
        *("workload_query", "workload_code", "fingerprint", "dataset", "kept_folders", "seed"),
        *("unit", "origin", "also_timed", "latency_definition", "load", "plan", "properties"),
        *("log", "series", "reconfigurations", "histograms", "warnings", "energy_source"),
        *("energy_reason", "isolate", "returncode", "floats", "checked_by"),
        *("order_index", "purpose", "engine_version", "attempt"),
    }
)
"""Columns without a number; the CSV of trials omits them to stay small, and the run has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFigure:
    """A judged figure with all the content of its record."""

    figure: Figure
    options: Options
    runs: Runs
    outcome: Outcome
    verdict: FigureVerdict
    facts: Facts

    @property
    def conditions(self) -> str:
        """The conditions of the verdict: lengths, repetitions, machine."""
        counts = Counter((run.path, row.cell) for run in self.runs for row in run.rows).values()
        fewest, most = min(counts, default=0), max(counts, default=0)
        machines = dict.fromkeys(_describe_machine(run.meta) for run in self.runs)
        return ", ".join(
            [
                self.figure.lengths(self.options),
                number_of(most, "repetition")
                if fewest == most
                else f"{fewest} to {most} repetitions",
                *machines,
            ]
        )

    @property
    def rows(self) -> tuple[TrialRow, ...]:
        """The trials of all runs."""
        return tuple(row for run in self.runs for row in run.rows)

    @property
    def text(self) -> str:
        """The verdict with its conditions, as in every output."""
        return f"{self.verdict.text} ({self.conditions})"

    @property
    def systems(self) -> tuple[str, ...]:
        """Notes on the systems that the claims are about."""
        return describe_systems(self.outcome.claims)

    @property
    def published(self) -> tuple[Fact, ...]:
        """The published numbers of the figure."""
        return self.facts.of(figure=self.figure.id.partition(":")[2])


def _describe_machine(meta: RunMeta) -> str:
    host = meta.host
    cores = usable_cores(host)
    count = "an unknown number of cores" if cores is None else f"{cores:g} cores"
    count = "1 core" if cores == 1 else count
    return f"{count} of {host.get('cpu_model') or 'an unknown processor'}"


def write(judged_figure: JudgedFigure, folder: Path, formats: Sequence[str]) -> tuple[Path, ...]:
    """Draw a figure and write it with its record; return the files: drawings first, JSON last."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / judged_figure.figure.slug
    canvas = judged_figure.outcome.draw()
    if judged_figure.options.quick:
        watermark(canvas, "QUICK RUN")
    subtitle(canvas, judged_figure.text)
    files = [*save_as(canvas, stem, [name for name in formats if name != PAGE])]
    if PAGE in formats:
        page = stem.with_suffix(f".{PAGE}")
        page.write_text(as_markdown(judged_figure, [path.name for path in files]), encoding="utf-8")
        files.append(page)
    trials, record = stem.with_suffix(".csv"), stem.with_suffix(".json")
    trials.write_bytes(csv_of(judged_figure.rows, without=_NOT_IN_TRIALS))
    # Write the record last, because a stored record marks a finished figure.
    content = json.dumps(as_json(judged_figure), indent=1, allow_nan=False) + "\n"
    record.write_text(content, encoding="utf-8")
    return (*files, trials, record)


def as_json(judged_figure: JudgedFigure) -> dict[str, object]:
    """Return the record as JSON values."""
    figure = judged_figure.figure
    return {
        "figure": figure.id,
        "title": figure.title,
        "shows": figure.shows,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "measured_at": max((row.started_at or "" for row in judged_figure.rows), default=""),
        "command": command(figure, judged_figure.options),
        "verdict": judged_figure.verdict.verdict,
        "indicates": judged_figure.verdict.indicates,
        "text": judged_figure.text,
        "conditions": judged_figure.conditions,
        "confidence": CONFIDENCE,
        "reason": judged_figure.verdict.reason,
        "claims": [asdict(claim) for claim in judged_figure.outcome.claims],
        "notes": [*judged_figure.outcome.notes, *judged_figure.systems],
        "warnings": [
            f"{warning.text} ({warning.trials} of {len(judged_figure.rows)} trials)"
            for warning in warnings_of(judged_figure.rows)
        ],
        "options": asdict(judged_figure.options),
        "machines": [*dict.fromkeys(_describe_machine(run.meta) for run in judged_figure.runs)],
        "trials": Counter(row.status for row in judged_figure.rows),
        "runs": [_stored_run(run.path, run.meta) for run in judged_figure.runs],
        "published": [
            {**asdict(fact), "high": None if fact.high == float("inf") else fact.high}
            for fact in judged_figure.published
        ],
        "numbers": dict(judged_figure.outcome.numbers),
    }


def as_markdown(judged_figure: JudgedFigure, drawings: Sequence[str]) -> str:
    """Return the record as a Markdown page."""
    picture = next((name for name in drawings if name.endswith((".png", ".svg"))), None)
    figure, verdict = judged_figure.figure, judged_figure.verdict
    heading = f"Verdict: {judged_figure.text}."
    if verdict.verdict == INDICATION:
        heading = f"No verdict; it indicates: {verdict.indicates} ({judged_figure.conditions})."
    reason = f"{verdict.reason[:1].upper()}{verdict.reason[1:]}." if verdict.reason else ""
    parts = [
        f"# {figure.id}: {figure.title}",
        f"**{heading}** {reason}",
        f"![{figure.title}]({picture})" if picture else "",
        f"Intervals hold together at {CONFIDENCE:.0%}. A claim is met when its whole "
        "interval is within the bounds, missed when the whole interval is outside, else "
        "inconclusive. It is not judged when the run lacks a phenomenon that it needs.",
        _table(
            ("claim", "of", "against", "kind", "published", "measured", "outcome", "why"),
            [
                (
                    c.text,
                    c.system.name if c.system else "",
                    c.opponent.name if c.opponent else "",
                    c.kind,
                    c.published,
                    c.measured,
                    _describe_outcome(c),
                    c.reason,
                )
                for c in judged_figure.outcome.claims
            ],
        ),
        "\n".join(f"- {note}" for note in (*judged_figure.outcome.notes, *judged_figure.systems)),
        "## Published numbers\n\n"
        + _table(
            ("panel", "series", "quantity", "at", "number", "where"),
            [
                (f.panel, f.series, f.quantity, f.x, f.text, f.source)
                for f in judged_figure.published
            ],
        ),
        "## Runs\n\n"
        + _table(
            ("run", "machine", "cores", "revision", "inputs"),
            [
                (
                    f"`{run['run']}`",
                    str(run["cpu_model"] or ""),
                    str(run["cores"]),
                    (run["commit"] or "")[:12] + (" and changes" if run["dirty"] else ""),
                    ", ".join(f"{key} {value[:12]}" for key, value in run["datasets"].items()),
                )
                for run in (_stored_run(run.path, run.meta) for run in judged_figure.runs)
            ],
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def command(figure: Figure, options: Options) -> str:
    """Return the command that makes a figure with these options."""
    return f"lab figure {figure.id} {options.arguments}".rstrip()


def claim_line(claim: Claim) -> str:
    """Return a claim as one line for the terminal."""
    measured = f", measured {claim.measured}" if claim.measured else ""
    return f"{_describe_outcome(claim)}: {claim.text} (published {claim.published}{measured}; {claim.reason})"


class _StoredRun(TypedDict):
    run: str
    cpu_model: JsonValue
    cores: float | None
    commit: str | None
    dirty: bool
    datasets: dict[str, str]
    fingerprint: str | None


def _stored_run(path: Path, meta: RunMeta) -> _StoredRun:
    return {
        "run": path.name,
        "cpu_model": meta.host.get("cpu_model"),
        "cores": usable_cores(meta.host),
        "commit": meta.vcs.commit,
        "dirty": meta.vcs.dirty_diff_sha256 is not None,
        "datasets": {key: dataset.id for key, dataset in meta.datasets.items()},
        "fingerprint": meta.fingerprint,
    }


def _describe_outcome(claim: Claim) -> str:
    if claim.outcome == INCONCLUSIVE:
        return f"{INCONCLUSIVE} (indicates {claim.indicates})"
    if claim.outcome == NOT_COMPARABLE and absent((claim.system, claim.opponent)):
        return f"{NOT_COMPARABLE} (opponent absent)"
    return claim.outcome


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(text) for text in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
