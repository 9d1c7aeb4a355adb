"""Writes the gallery: a Markdown page with a card for each figure, from the records in a folder."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from html import escape
from itertools import groupby
from pathlib import Path

from streamlab.lab.figures.figure import Figure
from streamlab.lab.figures.stored_figures import (
    Failure,
    StoredFigure,
    read_failure,
    read_figure,
)
from streamlab.lab.figures.systems import System
from streamlab.lab.figures.verdict import (
    CONTRADICTED,
    INCONCLUSIVE,
    INDICATION,
    NOT_COMPARABLE,
    ONE_TRIAL,
    REPRODUCED,
    SHAPE_ONLY,
    Claim,
)
from streamlab.reports.numbers import number_of

PAPERS = {
    "stretch": "STRETCH",
    "ordered": "Ordered pipelines",
    "viper": "Viper",
    "datatrace": "Data-Trace Types",
    "flumina": "Dependency-guided synchronization",
    "lab": "The lab's own figure",
}
"""Headings by paper. For papers of other packages, the name is the heading."""

CLAIMS_SHOWN = 6
"""Most claims that a card shows without folding them."""

_SENTENCES = {
    REPRODUCED: "Reproduced: every claim of the paper holds here.",
    SHAPE_ONLY: "Shape only: order and growth are as published, not every number.",
    CONTRADICTED: "Contradicted: a claim of the paper does not hold here.",
    NOT_COMPARABLE: "No verdict: the lab does not run the paper's opponent.",
}


def write_page(figures: Sequence[Figure], folder: Path) -> Iterator[str]:
    """Yield the lines of the gallery.

    Args:
        figures: all figures, paper by paper.
        folder: folder with records and SVG drawings, below the page's folder.

    Raises:
        FigureError: a record is damaged.
    """
    records = {figure.id: read_figure(figure, folder) for figure in figures}
    count = sum(record is not None for record in records.values())
    yield from ("---", "hide: [navigation]", "---", "# Gallery", "")
    yield f"Each card is a figure of a paper as the lab made it: {count} of {len(figures)} are made."
    yield "[Figures](figures.md) explains verdicts; [Outcomes](outcomes.md) lists longer runs."
    yield "A card shows what its command measured, on the machine and at the scale that it states."
    yield from (
        "",
        "```",
        "lab figure --all --quick    # makes every figure; resumes where it stopped",
    )
    yield from ("```", "")
    for paper, group in groupby(figures, lambda figure: figure.id.partition(":")[0]):
        yield from (f"## {PAPERS.get(paper, paper)}", "")
        for figure in group:
            number = figure.id.partition(":")[2]
            yield f"### {number}: {figure.title} {{ #{figure.slug} }}"
            yield ""
            record = records[figure.id]
            card = (
                _missing_card(figure, read_failure(figure, folder))
                if record is None
                else _card(figure, record, folder.name)
            )
            yield f'<div class="figure-card">{"".join(card)}</div>'
            yield ""


def describe_verdict(record: StoredFigure) -> str:
    """Return the verdict in a sentence, with scale, repetitions and machine."""
    if record.verdict == INDICATION:
        words = f"No verdict: a quick run only indicates. It indicates: {record.indicates}."
    elif record.verdict == INCONCLUSIVE:
        words = f"Inconclusive: noise could turn the verdict. It indicates: {record.indicates}."
    elif record.verdict in _SENTENCES:
        words = _SENTENCES[record.verdict]
    elif ONE_TRIAL in record.reason:
        words = "No verdict: each cell has one trial, which is drawn and not judged."
    else:
        words = "No verdict: the run lacks what the claims need."
    run = "Quick run" if record.options.quick else "Run"
    disturbance = " The trials were disturbed; see below." if record.warnings else ""
    return f"{words} {run}: {record.conditions}.{disturbance}"


def _missing_card(figure: Figure, failure: Failure | None) -> Iterator[str]:
    yield f'<p class="figure-verdict"><strong>Not made yet.</strong> It shows {_text(figure.shows)}.</p>'
    command = f"lab figure {figure.id} --quick"
    if failure is not None:
        yield f"<p>The attempt of {_day(failure.made_at)}: {_text(failure.reason)}</p>"
        command = failure.command
    yield f"<pre><code>{_text(command)}</code></pre>"


def _card(figure: Figure, record: StoredFigure, folder: str) -> Iterator[str]:
    drawing = f"{folder}/{figure.slug}.svg"
    verdict = describe_verdict(record)
    alt = f"{figure.title}: {figure.shows}. {verdict}"
    yield (
        f'<a class="figure-drawing" href="{drawing}" title="Open the drawing alone">'
        f'<img src="{drawing}" alt="{_text(alt)}" loading="lazy"></a>'
    )
    headline, _, details = verdict.partition(". ")
    yield f'<p class="figure-verdict"><strong>{_text(headline)}.</strong> {_text(details)}</p>'
    yield from _claim_table(record.claims)
    yield from _collapsible("The systems", _system_items(record.claims))
    yield from _collapsible("Notes", (f"<li>{_text(note)}</li>" for note in record.notes))
    yield '<dl class="figure-facts">'
    if sides := "; ".join(filter(None, dict.fromkeys(map(_sides, record.claims)))):
        yield _fact("Sides", sides)
    yield _fact("Machine", "; ".join(map(_text, record.machines)))
    yield _fact("Date", _day(record.measured_at))
    yield _fact("Revision", ", ".join({run.revision: None for run in record.runs}))
    trials = ", ".join(f"{count} {status}" for status, count in record.trials.items())
    yield _fact("Trials", _text(trials))
    if record.warnings:
        yield _fact("Disturbances", "; ".join(map(_text, record.warnings)))
    yield _fact("Command", f"<code>{_text(record.command)}</code>")
    data = ", ".join(
        f'<a href="{folder}/{figure.slug}.{suffix}">{name}</a>'
        for suffix, name in (("csv", "trials (CSV)"), ("json", "record (JSON)"))
    )
    yield _fact("Raw data", data)
    yield "</dl>"


def _claim_table(claims: Sequence[Claim]) -> Iterator[str]:
    if not claims:
        return
    is_open = " open" if len(claims) <= CLAIMS_SHOWN else ""
    yield f"<details{is_open}><summary>{number_of(len(claims), 'claim')} of the paper</summary>"
    yield '<table class="figure-claims"><thead><tr><th>Claim</th><th>Paper</th><th>Here</th>'
    yield "<th>Outcome</th></tr></thead><tbody>"
    for claim in claims:
        cells = (
            ("Paper", _text(claim.published or "no number")),
            ("Here", _text(claim.measured or "no number")),
            ("Outcome", f"{_text(claim.outcome)}<small>{_text(claim.reason)}</small>"),
        )
        about = "; ".join(filter(None, (_sides(claim), _text(claim.source))))
        yield f"<tr><td>{_text(claim.text)}<small>{about}</small></td>"
        yield "".join(f'<td data-name="{name}">{cell}</td>' for name, cell in cells)
        yield "</tr>"
    yield "</tbody></table></details>"


def _sides(claim: Claim) -> str:
    if claim.system is None:
        return ""
    against = "" if claim.opponent is None else f" against {_name(claim.opponent)}"
    return f"{_name(claim.system)}{against}"


def _name(system: System) -> str:
    return _text(system.name) + (" (absent)" if system.absent else "")


def _system_items(claims: Sequence[Claim]) -> Iterator[str]:
    sides = (side for claim in claims for side in (claim.system, claim.opponent))
    for name, side in {side.name: side for side in sides if side is not None}.items():
        place = f"Runs here as {side.variant}." if side.variant else "Absent here."
        text = side.text.removeprefix(f"{name}: ")
        yield f"<li><strong>{_text(name)}</strong>: {_text(text)} {_text(place)}</li>"


def _collapsible(title: str, items: Iterable[str]) -> Iterator[str]:
    content = "".join(items)
    if content:
        yield f"<details><summary>{title}</summary><ul>{content}</ul></details>"


def _fact(name: str, content: str) -> str:
    return f"<div><dt>{name}</dt><dd>{content}</dd></div>"


def _day(time: str) -> str:
    if not time:
        return "unknown"
    moment = datetime.fromisoformat(time)
    return f"{moment.day} {moment:%B %Y}"


def _text(text: str) -> str:
    """Return text escaped for HTML, on one line of Markdown."""
    return escape(" ".join(text.split()))
