"""Writes a gate's outcome as one self-contained HTML file."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from streamlab.lab.gate.outcome import GateReport
from streamlab.lab.gate.render import headline, meanings, table_of

TEMPLATE = "page.html.j2"


def as_page(report: GateReport) -> str:
    """Return the outcome as HTML, without scripts or links."""
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    table = table_of(report)
    return environment.get_template(TEMPLATE).render(
        report=report,
        headline=headline(report),
        table=table,
        lines=list(zip(report.lines, table[1:], strict=True)),
        words=meanings(report),
    )


def write_page(report: GateReport, path: Path) -> None:
    """Write the outcome as HTML."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_page(report), encoding="utf-8")
