"""Writes the report of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reports.numbers import count, duration, memory, rate
from reports.page.drawings import latency_drawings, throughput_drawings, title
from reports.page.inline_svg import engine_variable, variables
from reports.page.provenance import sections
from reports.page.statement import not_run, statement
from reports.palette import engine_colours
from reports.summary import Cell, summarise
from reports.table import Baseline, HeadlineRow, baseline, in_groups, rows_of
from results.schema import OK, STATUSES
from results.store import read_run


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """The part of the headline table that belongs to one workload on one input."""

    title: str
    dataset: str
    baseline: Baseline | None
    rows: Sequence[HeadlineRow]


def write_report(run_dir: Path, out: Path | None = None) -> Path:
    """Write a run's report as one HTML file, and its figures as SVG and PNG into `<run>/figures`.

    The same run gives the same bytes.

    Args:
        run_dir: directory of a run.
        out: the file to write; `<run_dir>/report.html` when None.

    Returns:
        The path of the HTML file.

    Raises:
        ResultsError: the run is missing or damaged.
    """
    run = read_run(run_dir)
    cells = summarise(run.rows)
    page = render(run_dir.resolve().name, run.meta, cells, run_dir / "figures")
    target = run_dir / "report.html" if out is None else out
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    partial.write_text(page, encoding="utf-8")
    partial.replace(target)
    return target


def render(name: str, meta: Mapping[str, Any], cells: Sequence[Cell], figures: Path) -> str:
    """Return the page's text, having drawn the figures into the directory `figures`."""
    colours = engine_colours(cell.engine for cell in cells)
    missing = not_run(meta, cells)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    return environment.get_template("report.html.j2").render(
        name=name,
        style=style,
        variables=variables(colours),
        engine_variable={engine: engine_variable(engine, colours) for engine in colours},
        statement=statement(cells, missing=missing, complete=meta.get("complete") is not False),
        missing=missing,
        blocks=_blocks(cells),
        definitions=_definitions(cells),
        without_number=[cell for cell in cells if cell.status != OK],
        doubtful=[cell for cell in cells if cell.status == OK and cell.notes],
        statuses=STATUSES,
        throughput=throughput_drawings(cells, colours, figures),
        latency=latency_drawings(cells, colours, figures),
        properties=_properties(cells),
        plans=_plans(cells),
        provenance=sections(meta),
        oversubscribed=any(cell.oversubscribed for cell in cells),
        single=any(cell.throughput_eps and cell.throughput_eps.n == 1 for cell in cells),
        rate=rate,
        count=count,
        duration=duration,
        memory=memory,
    )


def _blocks(cells: Sequence[Cell]) -> list[_Block]:
    return [
        _Block(
            title=title(group),
            dataset=next((cell.dataset for cell in members if cell.dataset), ""),
            baseline=baseline(members),
            rows=rows_of(members),
        )
        for group, members in in_groups(cells)
    ]


def _definitions(cells: Sequence[Cell]) -> list[tuple[str, str]]:
    """Return (engines and variants, their definition of latency), each definition once."""
    who: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell.latency_definition:
            name = f"{cell.engine} {cell.variant}".strip()
            who.setdefault(cell.latency_definition.rstrip("."), {})[name] = None
    return [(", ".join(names), definition) for definition, names in who.items()]


def _properties(cells: Sequence[Cell]) -> list[tuple[str, str, str, Mapping[str, Any]]]:
    """Return (engine, variant, workload, properties), each combination once."""
    found: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    for cell in cells:
        if cell.properties:
            found.setdefault((cell.engine, cell.variant, cell.workload), cell.properties)
    engines = list(dict.fromkeys(engine for engine, _, _ in found))
    ordered = sorted(found, key=lambda key: (engines.index(key[0]), key))
    return [(*key, found[key]) for key in ordered]


def _plans(cells: Sequence[Cell]) -> list[tuple[str, list[str]]]:
    """Return each distinct plan with the cells that ran it."""
    plans: dict[str, list[str]] = {}
    for cell in cells:
        if cell.plan:
            plans.setdefault(cell.plan, []).append(cell.name)
    return list(plans.items())
