"""Writes a figure: its drawing in several formats, and its record in Markdown and JSON."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.systems import System, absent, describe_systems
from streamlab.lab.figures.verdict import (
    INCONCLUSIVE,
    INDICATION,
    NOT_COMPARABLE,
    Claim,
    FigureVerdict,
)
from streamlab.reports.figures.paper import add_notes, save_as, subtitle
from streamlab.reports.numbers import number_of
from streamlab.reports.published import Facts
from streamlab.results.machines import usable_cores
from streamlab.results.meta import RunMeta
from streamlab.results.stats.intervals import CONFIDENCE

FORMATS = ("png", "svg", "pdf")


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
        machines = dict.fromkeys(_machine(run.meta) for run in self.runs)
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
    def text(self) -> str:
        """The verdict with its conditions, as in every output."""
        return f"{self.verdict.text} ({self.conditions})"


def _machine(meta: RunMeta) -> str:
    host = meta.host
    cores = usable_cores(host)
    count = "an unknown number of cores" if cores is None else f"{cores:g} cores"
    count = "1 core" if cores == 1 else count
    return f"{count} of {host.get('cpu_model') or 'an unknown processor'}"


def write(made: JudgedFigure, folder: Path, formats: Sequence[str]) -> tuple[Path, ...]:
    """Draw a figure and write it with its record; return the files, drawings first.

    Args:
        made: the figure.
        folder: target folder, created if missing.
        formats: formats of the drawing, among FORMATS; the record is always written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / made.figure.slug
    canvas = made.outcome.draw()
    subtitle(canvas, made.text)
    add_notes(canvas, _systems(made))
    drawings = save_as(canvas, stem, formats)
    content = as_json(made)
    record, page = stem.with_suffix(".json"), stem.with_suffix(".md")
    record.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    page.write_text(as_markdown(content, [path.name for path in drawings]), encoding="utf-8")
    return (*drawings, page, record)


def as_json(made: JudgedFigure) -> dict[str, Any]:
    """Return the record as JSON values."""
    figure = made.figure
    return {
        "figure": figure.id,
        "title": figure.title,
        "shows": figure.shows,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "verdict": made.verdict.verdict,
        "indicates": made.verdict.indicates,
        "text": made.text,
        "conditions": made.conditions,
        "confidence": CONFIDENCE,
        "reason": made.verdict.reason,
        "claims": [asdict(claim) for claim in made.outcome.claims],
        "notes": [*made.outcome.notes, *_systems(made)],
        "options": asdict(made.options),
        "runs": [_run(run.path, run.meta) for run in made.runs],
        "published": [
            {**asdict(fact), "high": None if fact.high == float("inf") else fact.high}
            for fact in made.facts.of(figure=figure.id.partition(":")[2])
        ],
        "numbers": dict(made.outcome.numbers),
    }


def as_markdown(record: Mapping[str, Any], drawings: Sequence[str]) -> str:
    """Return the record as a Markdown page."""
    picture = next((name for name in drawings if name.endswith((".png", ".svg"))), None)
    parts = [
        f"# {record['figure']}: {record['title']}",
        f"**{_heading(record)}** {_sentence(record['reason'])}",
        f"![{record['title']}]({picture})" if picture else "",
        f"Intervals hold together at {record['confidence']:.0%}. A claim is met when its whole "
        "interval is within the bounds, missed when the whole interval is outside, else "
        "inconclusive. It is not judged when the run lacks a phenomenon that it needs.",
        _table(
            ("claim", "of", "against", "kind", "published", "measured", "outcome", "why"),
            [
                (
                    c["text"],
                    _name(c["system"]),
                    _name(c["opponent"]),
                    c["kind"],
                    c["published"],
                    c["measured"],
                    _outcome(c),
                    c["reason"],
                )
                for c in record["claims"]
            ],
        ),
        "\n".join(f"- {note}" for note in record["notes"]),
        "## Published numbers\n\n"
        + _table(
            ("panel", "series", "quantity", "at", "number", "where"),
            [
                (f["panel"], f["series"], f["quantity"], f["x"], _number(f), f["source"])
                for f in record["published"]
            ],
        ),
        "## Runs\n\n"
        + _table(
            ("run", "machine", "cores", "revision", "inputs"),
            [
                (
                    f"`{run['run']}`",
                    run["cpu_model"] or "",
                    str(run["cores"]),
                    (run["commit"] or "")[:12] + (" and changes" if run["dirty"] else ""),
                    ", ".join(f"{key} {value[:12]}" for key, value in run["datasets"].items()),
                )
                for run in record["runs"]
            ],
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def claim_line(claim: Claim) -> str:
    """Return a claim as one line for the terminal."""
    measured = f", measured {claim.measured}" if claim.measured else ""
    outcome = _outcome(asdict(claim))
    return f"{outcome}: {claim.text} (published {claim.published}{measured}; {claim.reason})"


def _run(path: Path, meta: RunMeta) -> dict[str, Any]:
    return {
        "run": path.name,
        "cpu_model": meta.host.get("cpu_model"),
        "cores": usable_cores(meta.host),
        "commit": meta.vcs.commit,
        "dirty": meta.vcs.dirty_diff_sha256 is not None,
        "datasets": {key: dataset.id for key, dataset in meta.datasets.items()},
        "fingerprint": meta.fingerprint,
    }


def _heading(record: Mapping[str, Any]) -> str:
    if record["verdict"] == INDICATION:
        return f"No verdict; it indicates: {record['indicates']} ({record['conditions']})."
    return f"Verdict: {record['text']}."


def _outcome(claim: Mapping[str, Any]) -> str:
    if claim["outcome"] == INCONCLUSIVE:
        return f"{INCONCLUSIVE} (indicates {claim['indicates']})"
    sides = [System(**side) for side in (claim["system"], claim["opponent"]) if side is not None]
    if claim["outcome"] == NOT_COMPARABLE and absent(sides):
        return f"{NOT_COMPARABLE} (opponent absent)"
    return str(claim["outcome"])


def _name(side: Mapping[str, Any] | None) -> str:
    return "" if side is None else str(side["name"])


def _systems(made: JudgedFigure) -> tuple[str, ...]:
    """Return notes on the systems that the claims are about."""
    return describe_systems((claim.system, claim.opponent) for claim in made.outcome.claims)


def _number(fact: Mapping[str, Any]) -> str:
    low, high = fact["low"], fact["high"]
    unit = "" if fact["unit"] == "1" else f" {fact['unit']}"
    if fact["relation"] in ("at most", "difference"):
        return f"at most {high:,g}{unit}"
    if high is None:
        return f"at least {low:,g}{unit}"
    return (f"{low:,g}" if low == high else f"{low:,g} to {high:,g}") + unit


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(text) for text in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""
