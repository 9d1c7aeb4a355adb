"""Writes the report of a run as an HTML page."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamlab.reports.counters import counter_tables
from streamlab.reports.energy import energy
from streamlab.reports.energy import reasons as energy_reasons
from streamlab.reports.figures.latency import has_latency
from streamlab.reports.numbers import (
    Quantity,
    count,
    duration,
    growth,
    joules,
    latency,
    low_end,
    memory,
    plain,
    rate,
    seconds,
    share,
    unit_words,
    watts,
)
from streamlab.reports.offered_loads import remarks
from streamlab.reports.page.drawings import (
    BRACKETS,
    LATENCY,
    LEVELS,
    OFFERED_LATENCY,
    THROUGHPUT,
    Drawing,
    Kind,
    cell_drawings,
    energy_drawings,
    search_drawings,
    search_groups,
)
from streamlab.reports.page.frame import fill, write_page
from streamlab.reports.page.provenance import invented, origin, sections
from streamlab.reports.page.rate_chart import ChartClass, RateScale, rate_chart, rate_scale
from streamlab.reports.page.statement import missing_cells, statement
from streamlab.reports.page.timelines import timelines
from streamlab.reports.palette import Colour, engine_colours
from streamlab.reports.run_warnings import ceilings, warnings_of
from streamlab.reports.scaling import slower
from streamlab.reports.searches import Search, read_searches
from streamlab.reports.summary import WITHOUT_ORACLE, Cell, rounded_answers, summarise
from streamlab.reports.table import (
    Group,
    HeadlineRow,
    classes_of,
    group_of,
    in_groups,
    status_text,
    title,
)
from streamlab.reports.troubleshooting import advice_on, advice_on_text
from streamlab.reports.verdicts import MARKS
from streamlab.results.query import group_by
from streamlab.results.schema import OK, TrialRow
from streamlab.results.store import Run, read_run
from streamlab.results.table import csv_of, parquet_of

Colours = Mapping[str, Colour]

_WRITERS = (
    *(rate, count, duration, growth, joules, latency, low_end, memory, plain, seconds, share),
    watts,
    unit_words,
)
_LEAST_COUNTS = 3
"""Minimum number of points (numbers of workers) for a curve; the chart above the table shows fewer points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """The chart of a workload and input, and its rows in classes of comparable rates."""

    title: str
    dataset: str
    events: Quantity | None
    chart: Sequence[ChartClass]
    classes: Sequence[tuple[str, Sequence[HeadlineRow]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file inside the page.

    Attributes:
        size: size in bytes.
        address: content as a data URL.
    """

    name: str
    size: int
    address: str


def write_report(run_dir: Path, out: Path | None = None) -> Path:
    """Write a run's report as one HTML file and return its path; equal runs give equal bytes.

    Writes `<run_dir>/report.html`, and the figures as SVG and PNG into `<run_dir>/figures`.
    With `out`, writes only this file, since the run's directory may be read-only.

    Raises:
        ResultsError: the run is missing or damaged.
    """
    run = read_run(run_dir)
    cells = summarise(run.rows)
    page = render(run, cells, run_dir / "figures" if out is None else None)
    return write_page(run_dir / "report.html" if out is None else out, page)


def render(
    run: Run, cells: Sequence[Cell], figures: Path | None, *, home: str = "", made_from: str = ""
) -> str:
    """Return the page's text.

    Args:
        run: the run.
        cells: the run's cells.
        figures: directory for files of the figures; None: figures are only in the page.
        home: as in `fill`.
        made_from: as in `fill`.
    """
    searches = read_searches(run, cells)
    all_cells = [*cells, *(search.place for search in searches)]
    colours = engine_colours(row.engine for row in run.rows)
    return fill(
        "report.html.j2",
        whole=True,
        downloads=_make_downloads(run.rows, run.path.resolve().name),
        properties=_list_properties(all_cells),
        plans=_list_plans(all_cells),
        counter_tables=counter_tables(
            [*cells, *(s.confirming_cell for s in searches if s.confirming_cell is not None)]
        ),
        provenance=sections(run.meta.recorded),
        invented=invented(run.meta),
        timelines=timelines(run, colours),
        slower=slower(cells, run.rows),
        **_result_variables(run, cells, searches, figures, drawn=True),
        **_energy_variables(run, cells, searches, colours, figures),
        home=home,
        made_from=made_from,
    )


def render_tables(run: Run) -> str:
    """Return a page that has only the report's first screen and result tables, without figures."""
    cells = summarise(run.rows)
    searches = read_searches(run, cells)
    return fill(
        "report.html.j2",
        whole=False,
        slower=[],
        **_result_variables(run, cells, searches, None, drawn=False),
    )


def _make_downloads(rows: Sequence[TrialRow], name: str) -> tuple[Download, ...]:
    """Return the trials as CSV and as Parquet."""
    files = (
        ("csv", "text/csv;charset=utf-8", csv_of(rows)),
        ("parquet", "application/vnd.apache.parquet", parquet_of(rows)),
    )
    return tuple(
        Download(
            name=f"{name}.{ending}",
            size=len(content),
            address=f"data:{kind};base64,{base64.b64encode(content).decode()}",
        )
        for ending, kind, content in files
    )


def _overview_variables(
    run: Run, cells: Sequence[Cell], searches: Sequence[Search]
) -> dict[str, Any]:
    """Return the template's variables for the top of the page, and for the list of cells without a number."""
    missing = missing_cells(run.meta, cells, searches)
    complete = run.meta.complete is not False
    warnings = warnings_of(run.rows)
    generators = ceilings(run.meta)
    all_cells = [*cells, *(search.place for search in searches)]
    warned = any("generator" in warning.text for warning in warnings)
    unknown = [
        f"The ceiling of the generator of {ceiling.source} is unknown: {ceiling.reason}"
        for ceiling in generators
        if ceiling.reason and not warned
    ]
    near = [
        f"{cell.name}: the offered rate is above half of its generator's highest rate, so the "
        "generator may limit the result"
        for cell in cells
        if cell.load and cell.load.is_near_ceiling and not warned
    ]
    bounds = [search.reason for search in searches]
    texts = [*(warning.text for warning in warnings), *unknown, *near, *bounds]
    return {
        "statement": (
            about := statement(cells, searches=searches, missing=missing, complete=complete)
        ),
        "origin": origin(run, about.size),
        "missing": missing,
        "other_sections": any(cell.load is not None for cell in cells) or bool(searches),
        "advice": advice_on(run.rows, texts, missing=bool(missing)),
        "advice_on_text": advice_on_text,
        "without_number": [cell for cell in cells if not cell.has_numbers],
        "warnings": warnings,
        "words_of_checks": WITHOUT_ORACLE,
        "rounded_answers": rounded_answers(run.rows),
        "checks": {c.checked_by for c in all_cells} & WITHOUT_ORACLE.keys(),
        "known_ceilings": [ceiling for ceiling in generators if ceiling.eps is not None],
        "unknown_ceilings": unknown,
        "near_ceiling": near,
        "oversubscribed": any(cell.oversubscribed for cell in all_cells),
        "single": any(cell.throughput_eps and cell.throughput_eps.n == 1 for cell in cells),
    }


def _result_variables(
    run: Run,
    cells: Sequence[Cell],
    searches: Sequence[Search],
    figures: Path | None,
    *,
    drawn: bool,
) -> dict[str, Any]:
    """Return the variables of the results, with figures if `drawn`."""
    colours = engine_colours(row.engine for row in run.rows)
    unloaded = [cell for cell in cells if cell.load is None]
    loaded = [cell for cell in cells if cell.load is not None]

    def draw(kind: Kind, members: Sequence[Cell]) -> list[Drawing]:
        return cell_drawings(kind, members, colours, figures) if drawn else []

    def draw_searches(kind: Kind) -> dict[Group, str]:
        return search_drawings(kind, searches, colours, figures) if drawn else {}

    blocks, scale = _make_blocks(unloaded)
    rows = [row for block in blocks for _, part in block.classes for row in part]
    curves = any(
        len({cell.workers for cell in line}) >= _LEAST_COUNTS
        for line in group_by(unloaded, lambda cell: (group_of(cell), cell.series)).values()
    )
    brackets, levels = draw_searches(BRACKETS), draw_searches(LEVELS)
    return {
        "name": run.path.resolve().name,
        "colours": colours,
        "marks": MARKS,
        "trials": len(run.rows),
        **_overview_variables(run, cells, searches),
        # Cells that ran at full speed.
        "blocks": blocks,
        "scale": scale,
        "any_untimed": any(row.untimed for row in rows),
        "no_ratios": {row.no_ratio for row in rows},
        "any_unclear": not all(row.is_clear for row in rows),
        "definitions": _list_definitions(unloaded),
        "remarked": [cell for cell in unloaded if cell.status == OK and cell.notes],
        "throughput": draw(THROUGHPUT, unloaded) if curves else [],
        "latency_figures": draw(LATENCY, [cell for cell in unloaded if has_latency(cell)]),
        # Cells under an offered load.
        "offered_groups": [(title(group), members) for group, members in in_groups(loaded)],
        "offered_definitions": _list_definitions(loaded),
        "offered_figures": draw(OFFERED_LATENCY, loaded),
        "remarks": remarks,
        "status_text": status_text,
        # Searches.
        "search_blocks": [
            (title(group), members, brackets.get(group, ""), levels.get(group, ""))
            for group, members in search_groups(searches)
        ],
        "search_definitions": _list_definitions(
            [level.cell for s in searches for level in s.levels]
        ),
        "any_quick_search": any(search.load.quick for search in searches),
        "level_statuses": {level.cell.status for search in searches for level in search.levels},
        **{write.__name__: write for write in _WRITERS},
    }


def _energy_variables(
    run: Run,
    cells: Sequence[Cell],
    searches: Sequence[Search],
    colours: Colours,
    figures: Path | None,
) -> dict[str, Any]:
    """Return the variables of the energy section, which is hidden if no trial recorded energy or a reason."""
    uses = energy(run.rows, cells, searches)
    reasons = energy_reasons(run.rows)
    threaded = [use for use in uses if "threads" in use.cell.counters]
    return {
        "used": uses,
        "threaded": threaded,
        "energy_reasons": reasons,
        "energy_figures": energy_drawings(uses, colours, figures),
        "show_energy": bool(reasons or threaded or any(use.gross_j for use in uses)),
    }


def _make_blocks(cells: Sequence[Cell]) -> tuple[list[_Block], RateScale | None]:
    """Return a block for each workload and input, and the common scale of the charts."""
    scale = rate_scale(cells)
    blocks = [
        _Block(
            title=title(group),
            dataset=next((cell.dataset for cell in members if cell.dataset), ""),
            events=next((count(cell.events) for cell in members if cell.events), None),
            chart=rate_chart(members, scale) if scale else [],
            classes=classes_of(members),
        )
        for group, members in in_groups(cells)
    ]
    return blocks, scale


def _list_definitions(cells: Sequence[Cell]) -> list[tuple[str, str]]:
    """Return each distinct definition of latency with the engines that use it."""
    defined = [cell for cell in cells if cell.latency_definition]
    groups = group_by(defined, lambda cell: cell.latency_definition.rstrip("."))
    return [
        (", ".join(dict.fromkeys(c.engine_label for c in members)), definition)
        for definition, members in groups.items()
    ]


def _list_properties(cells: Sequence[Cell]) -> list[tuple[Cell, Mapping[str, object]]]:
    """Return, for each engine, variant and workload, one cell with its properties."""
    by_workload: dict[tuple[str, str, str], Cell] = {}
    for cell in cells:
        if cell.properties:
            by_workload.setdefault((cell.engine, cell.variant, cell.workload), cell)
    engines = list(dict.fromkeys(engine for engine, _, _ in by_workload))
    ordered = sorted(by_workload, key=lambda key: (engines.index(key[0]), key))
    return [(by_workload[key], by_workload[key].properties) for key in ordered]


def _list_plans(cells: Sequence[Cell]) -> list[tuple[str, list[str]]]:
    """Return each distinct plan with the cells that ran it."""
    plans = group_by((cell for cell in cells if cell.plan), lambda cell: cell.plan)
    return [(plan, [cell.name for cell in members]) for plan, members in plans.items()]
