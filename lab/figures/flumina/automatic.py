"""Reproduces figure 4 of DGS: how far Flink scales by itself; Timely Dataflow is absent."""

from typing import Any

from streamlab.lab.figures.experiment import asked, numbers, points, stage
from streamlab.lab.figures.figure import Figure, Outcome, Runs
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
    NODES,
    PROGRAMS,
    WORKERS,
    Program,
    facts,
    growth,
    growth_words,
    notes,
    scaling,
    workers_text,
)
from streamlab.lab.figures.flumina.systems import SYSTEMS
from streamlab.lab.figures.judge import Posed, judge
from streamlab.lab.figures.measurements import Series, quotient
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import outputs, sweep_points, two_degrees
from streamlab.reports.figures.paper import Layout, Line, Mark, Panel, draw

FLAT = 1.2
"""Factor by which a program that does not scale may be faster or slower with more workers."""


def _tree(options: Options) -> dict[str, Any]:
    return tree(options, PROGRAMS, ("F",), (EVEN,))


def _claims(options: Options, runs: Runs, program: Program, rates: Series) -> list[Posed]:
    inf = float("inf")
    produced = outputs(rows_of(runs, program, "F", options))
    absent = [
        asked(f"{program.panel}: {NAMES[form]}, {NODES} workers by 1", fact)
        .of(SYSTEMS[form])
        .shape(None, 0.0, inf, "x")
        for form in ("TD", "TDM")
        for fact in facts().of(figure="T1", panel=program.panel, series=form, quantity="scaling")
    ]
    if program is FRAUD:
        within = rates.workers(options.within)
        fewest, most = (within[0], within[-1]) if within else (1, 1)
        return [
            asked(
                f"{program.panel}: Flink does not scale, {workers_text(fewest, most)} by {fewest}",
                scaling(program, "F"),
            )
            .of(SYSTEMS["F"])
            .given(two_degrees(options, rates), produced)
            .shape(quotient(rates.at(most), rates.at(fewest)), 1 / FLAT, FLAT, "x"),
            *absent,
        ]
    posed = growth(options, program, "F", rates, produced)
    if program is JOIN:
        limit = facts().one(figure="4", quantity="nodes to which it scales")
        more = [n for n in rates.workers(options.within) if n >= limit.high]
        beyond = quotient(rates.at(more[-1]), rates.at(more[0])) if len(more) > 1 else None
        posed.append(
            asked(
                f"{program.panel}: throughput with the most workers by that with {limit.high:g}",
                limit,
            )
            .of(SYSTEMS["F"])
            .given(sweep_points(f"numbers of workers from {limit.high:g} on", len(more)), produced)
            .shape(beyond, 0.0, FLAT, "x")
        )
    return [*posed, *absent]


def _outcome(options: Options, runs: Runs) -> Outcome:
    by_program = {program: rate(runs, program, "F") for program in PROGRAMS}
    figure_notes = notes(
        options,
        runs,
        degrees(options),
        *missing_forms(runs, ("F",)),
        "Flink 2.3 in one Java process here, events one by one; Timely Dataflow is no engine of "
        "this lab: not comparable (opponent absent).",
    )
    return Outcome(
        claims=judge(
            [claim for p in PROGRAMS for claim in _claims(options, runs, p, by_program[p])]
        ),
        notes=figure_notes,
        numbers={p.panel: numbers(flink_eps=rates) for p, rates in by_program.items()},
        draw=lambda: draw(
            Layout(
                title="DGS, figure 4: what scales by itself",
                rows=[[_panel(options, p, by_program[p]) for p in PROGRAMS]],
                notes=figure_notes,
            )
        ),
    )


def _panel(options: Options, program: Program, rates: Series) -> Panel:
    timely = facts().of(figure="T1", panel=program.panel, series="TD", quantity="scaling")
    return Panel(
        title=program.panel,
        y_label="events/s",
        x_label=WORKERS,
        lines=[Line(name=NAMES["F"], points=points(rates, options), colour=1)],
        marks=_marks(options, program, rates),
        words=[
            *growth_words(options, {"Flink": rates}, scaling(program, "F")),
            *(f"Timely, published: {fact.text} at {NODES} nodes" for fact in timely),
        ],
        ticks=degrees(options),
    )


def _marks(options: Options, program: Program, rates: Series) -> tuple[Mark, ...]:
    """Return the mark of Flink's published share of linear growth, at the most workers within cores."""
    within = rates.workers(options.within)
    single = rates.at(1)
    if single is None or len(within) < 2:
        return ()
    share = max(1.0, scaling(program, "F").low / NODES * within[-1])
    at = single.value * share
    return (Mark(name="at the published share of linear", low=at, high=at, x=float(within[-1])),)


FIGURE = Figure(
    id="flumina:4",
    title="how far Flink scales by itself (Timely: absent)",
    shows="throughput of the three programs on Flink against workers",
    needs=(*(program.workload for program in PROGRAMS), VARIANTS["F"]),
    stages=(stage("rates", "Flink at full speed", _tree),),
    outcome=_outcome,
)
