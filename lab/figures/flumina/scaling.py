"""Reproduces figure 8 of DGS: maximum throughput of its three programs against parallelism."""

from typing import Any

from streamlab.lab.figures.experiment import engine, events, numbers, points, run_table, stage
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.flumina.shared import (
    BLOCK,
    DGS,
    HANDOVER,
    PROGRAMS,
    RATE,
    SINGLE,
    WORKERS,
    Program,
    growth,
    growth_words,
    notes,
    per_barrier,
    scaling,
    streams,
    synchronizations,
)
from streamlab.lab.figures.judge import judge
from streamlab.lab.figures.measurements import Series, series
from streamlab.lab.figures.options import Options
from streamlab.reports.figures.paper import Layout, Line, Panel, draw

_EVENTS = (20_000_000, 2_000_000)
UNITS = {SINGLE: "event by event", BLOCK: f"in blocks of {BLOCK:,}"}
"""Units of hand-over by batch; each has its own row of panels, as their rates are far apart."""


def _tree(options: Options) -> dict[str, Any]:
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            program.table(events(options, *_EVENTS), streams(options)) for program in PROGRAMS
        ],
        "engine": units(options),
    }


def units(options: Options) -> list[dict[str, Any]]:
    """Return the `[[engine]]` tables: single events handed over through rings, and blocks."""
    return [
        engine(DGS, options, batch=[SINGLE], options=dict(HANDOVER)),
        engine(DGS, options, batch=[BLOCK]),
    ]


def rate_of(runs: Runs, program: Program, batch: int) -> Series:
    """Return the throughput of a program by workers."""
    return series(runs[0], program.workload, DGS, RATE, options=f"/b{batch}")


def _outcome(options: Options, runs: Runs) -> Outcome:
    rates = {(p, batch): rate_of(runs, p, batch) for p in PROGRAMS for batch in UNITS}
    figure_notes = notes(
        options,
        runs,
        options.instances,
        f"Every input has {streams(options)} streams and one of synchronizing events, one each "
        f"{per_barrier():,} events of a stream; the paper adds a stream with each node.",
        "Claims are about single events, each handed over through a ring, as producers hand them "
        "to mailboxes in the paper. From memory, at full speed.",
    )
    return Outcome(
        claims=judge(
            [
                claim
                for p in PROGRAMS
                for claim in growth(
                    options,
                    p,
                    "DGS",
                    rates[p, SINGLE],
                    *synchronizations(runs[0], p.workload, f"/b{SINGLE}", workers=options.within),
                )
            ]
        ),
        notes=figure_notes,
        numbers={
            f"{p.panel}, {UNITS[batch]}": numbers(throughput_eps=rate)
            for (p, batch), rate in rates.items()
        },
        draw=lambda: draw(
            Layout(
                title="DGS, figure 8: maximum throughput against parallelism",
                rows=[
                    [_panel(options, p, batch, rates[p, batch]) for p in PROGRAMS]
                    for batch in UNITS
                ],
                notes=figure_notes,
            )
        ),
    )


def _panel(options: Options, program: Program, batch: int, rates: Series) -> Panel:
    return Panel(
        title=f"{program.panel}, {UNITS[batch]}",
        y_label="events/s",
        x_label=WORKERS,
        lines=[Line(name="DGS, native engine", points=points(rates, options))],
        words=growth_words(options, {"measured": rates}, scaling(program, "DGS")),
        ticks=options.instances,
    )


FIGURE = Figure(
    id="flumina:8",
    title="maximum throughput of synchronization plans",
    shows="throughput of event windows, page-view join, fraud detection against workers",
    needs=(*(program.workload for program in PROGRAMS), DGS),
    stages=(stage("rates", "three programs at full speed", _tree),),
    outcome=_outcome,
)
