"""Reproduces figure 6 of DGS: synchronization by hand in Flink, compared with Flink by itself."""

from streamlab.lab.figures.experiment import numbers, points, stage
from streamlab.lab.figures.figure import Figure, FigureStage, Outcome, Plan, Runs, Tree
from streamlab.lab.figures.flumina.forms import (
    EVEN,
    NAMES,
    VARIANTS,
    degrees,
    missing_forms,
    rate,
    rows_of,
    tree,
)
from streamlab.lab.figures.flumina.shared import (
    FRAUD,
    JOIN,
    WORKERS,
    Program,
    facts,
    growth,
    growth_words,
    notes,
    scaling,
)
from streamlab.lab.figures.flumina.systems import SYSTEMS
from streamlab.lab.figures.judge import Posed, PublishedClaim, judge
from streamlab.lab.figures.measurements import Series, column, quotient, series
from streamlab.lab.figures.offered_stages import LAG_NOTE, LATENCY_SHARE, latency_plan
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import latencies, outputs, sweep_points, trials
from streamlab.reports.figures.paper import Layout, Line, Panel, draw
from streamlab.results.query import CellSummary

_PROGRAMS = (JOIN, FRAUD)
_FORMS = ("F", "FM")
_LATENCY = column("latency_p50_ns", 1e-6)
_SOURCE = "section 4.3, figure 6"


def _tree(options: Options) -> Tree:
    return tree(options, _PROGRAMS, _FORMS, (EVEN,))


def _latency(options: Options, runs: Runs) -> Plan:
    keys = {(p.workload, EVEN, *VARIANTS[form].split("/")) for p in _PROGRAMS for form in _FORMS}

    def in_figure(cell: CellSummary) -> bool:
        return (cell.workload, cell.label, cell.engine, cell.variant) in keys

    return latency_plan(options, _tree(options), runs, in_figure)


def _latencies(runs: Runs, program: Program, form: str) -> Series:
    return series(runs[1], f"{program.workload}@{EVEN}", VARIANTS[form], _LATENCY)


def _tasks(program: Program) -> int:
    """Return how many workers Flink by itself keeps busy: one a page, or one task for all rules."""
    pages = facts().one(figure="4", quantity="pages that all views are of")
    return int(pages.low) if program is JOIN else 1


def _claims(
    options: Options,
    runs: Runs,
    program: Program,
    rates: dict[str, Series],
    latency: dict[str, Series],
) -> list[Posed]:
    within = options.within
    tasks = _tasks(program)
    produced = outputs([row for form in _FORMS for row in rows_of(runs, program, form, options)])
    offered = trials(runs[1], f"{program.workload}@{EVEN}/", "/flink/", workers=within)
    needs = (
        sweep_points(
            f"workers within the cores, of which Flink by itself keeps {tasks} busy",
            max(within, default=0),
            tasks + 1,
        ),
        produced,
    )

    def published_claim(text: str, published: str) -> PublishedClaim:
        return PublishedClaim(
            text=f"{program.panel}: {text}", published=published, source=_SOURCE
        ).between(SYSTEMS["FM"], SYSTEMS["F"]).given(*needs)  # fmt: skip

    return [
        *growth(options, program, "FM", rates["FM"], produced),
        published_claim("manual throughput by automatic, best of all workers", "higher").shape(
            quotient(rates["FM"].highest(within), rates["F"].highest(within)),
            1.0,
            float("inf"),
            "x",
        ),
        published_claim(
            f"manual latency by automatic at {LATENCY_SHARE:g} of their rates, lowest", "lower"
        )
        .given(*latencies(offered))
        .shape(quotient(latency["FM"].lowest(within), latency["F"].lowest(within)), 0.0, 1.0, "x"),
    ]


def _outcome(options: Options, runs: Runs) -> Outcome:
    rates = {p: {form: rate(runs, p, form) for form in _FORMS} for p in _PROGRAMS}
    latency = {p: {form: _latencies(runs, p, form) for form in _FORMS} for p in _PROGRAMS}
    figure_notes = notes(
        options,
        runs,
        degrees(options),
        *missing_forms(runs, _FORMS),
        "Manual: a service next to Flink, by RMI over the loopback interface; the paper's nodes had "
        "a network between them, and its input rate rose until Flink fell behind.",
        f"Latency is the median at {LATENCY_SHARE:g} of each cell's own rate.",
        LAG_NOTE,
    )
    return Outcome(
        claims=judge(
            [claim for p in _PROGRAMS for claim in _claims(options, runs, p, rates[p], latency[p])]
        ),
        notes=figure_notes,
        numbers={
            f"{p.panel}, {NAMES[form]}": numbers(
                throughput_eps=rates[p][form], latency_ms=latency[p][form]
            )
            for p in _PROGRAMS
            for form in _FORMS
        },
        draw=lambda: draw(
            Layout(
                title="DGS, figure 6: synchronization by hand in Flink",
                rows=[
                    [_panel(options, p, rates[p], "events/s") for p in _PROGRAMS],
                    [_panel(options, p, latency[p], "latency p50, ms") for p in _PROGRAMS],
                ],
                notes=figure_notes,
            )
        ),
    )


def _panel(options: Options, program: Program, by_form: dict[str, Series], y_label: str) -> Panel:
    is_rate = y_label == "events/s"
    words = growth_words(options, {"manual": by_form["FM"]}, scaling(program, "FM"))
    return Panel(
        title=program.panel if is_rate else "",
        y_label=y_label,
        x_label=WORKERS,
        lines=[
            Line(name=NAMES[form], points=points(by_form[form], options), colour=colour)
            for colour, form in enumerate(_FORMS, 1)
        ],
        words=words if is_rate else (),
        log_y=not is_rate,
        ticks=degrees(options),
    )


FIGURE = Figure(
    id="flumina:6",
    title="synchronization by hand in Flink, against Flink by itself",
    shows="throughput and latency of page-view join and fraud detection against workers",
    needs=(*(program.workload for program in _PROGRAMS), *(VARIANTS[form] for form in _FORMS)),
    stages=(
        stage("rates", "both forms at full speed", _tree),
        FigureStage(
            name="latency", about=f"at {LATENCY_SHARE:g} of each cell's own rate", plan=_latency
        ),
    ),
    outcome=_outcome,
)
