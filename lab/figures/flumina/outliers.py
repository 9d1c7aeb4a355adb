"""Reproduces figure A1 of DGS (appendix A.1): growth of outlier detection with workers.

The paper's input is the KDD Cup's; here connections are generated, as many as in its 10 % file.
"""

from typing import Any

from streamlab.lab.figures.experiment import asked, events, numbers, points, run_table, stage
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.flumina import systems
from streamlab.lab.figures.flumina.scaling import UNITS, units
from streamlab.lab.figures.flumina.shared import (
    DGS,
    ONE_SERVER,
    RATE,
    SINGLE,
    WORKERS,
    facts,
    growth_by,
    growth_words,
    lines_note,
    notes,
    streams,
    synchronizations,
)
from streamlab.lab.figures.flumina.systems import SYSTEMS
from streamlab.lab.figures.judge import Posed, judge
from streamlab.lab.figures.measurements import Series, quotient, series
from streamlab.lab.figures.options import Options
from streamlab.reports.figures.paper import Layout, Line, Mark, Panel, Point, draw
from streamlab.reports.published import Fact

WORKLOAD = "outlier_detection"
NUMBER = "A1"
HANDCRAFTED = "handcrafted"
CONNECTIONS_PER_CHECK = 20_000
"""Connections of all streams between checks: 25 checks in as many connections as the file has. The
public code checks every 1,000 s, on an input without times."""
_EVENTS = (494_021, 100_000)
"""The rows of the KDD Cup's 10 % file."""


def _tree(options: Options) -> dict[str, Any]:
    count = streams(options)
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            {
                "name": WORKLOAD,
                "events": events(options, *_EVENTS),
                "params": {
                    "streams": count,
                    "connections_per_check": CONNECTIONS_PER_CHECK // count,
                },
            }
        ],
        "engine": units(options),
    }


def _speedup(name: str) -> Fact:
    return facts().one(figure=NUMBER, series=name, quantity="speedup")


def _claims(options: Options, runs: Runs, single: Series) -> list[Posed]:
    by_hand = _speedup(HANDCRAFTED)
    return [
        *growth_by(
            options,
            _speedup("DGS"),
            single,
            *synchronizations(runs[0], f"/b{SINGLE}", workers=options.within),
        ),
        asked(
            f"{by_hand.panel}: growth at {by_hand.x} nodes, DGS by the handcrafted program",
            by_hand,
        )
        .between(SYSTEMS["DGS"], systems.HANDCRAFTED)
        .shape(None, 0.0, float("inf"), "x"),
    ]


def _outcome(options: Options, runs: Runs) -> Outcome:
    by_batch = {
        batch: series(runs[0], WORKLOAD, DGS, RATE, options=f"/b{batch}") for batch in UNITS
    }
    figure_notes = notes(
        options,
        runs,
        options.instances,
        f"Generated connections in {streams(options)} streams, a check each "
        f"{CONNECTIONS_PER_CHECK:,} of all; the paper: the KDD Cup's, on 1 to 8 nodes. From "
        "memory, at full speed; claims are about single events, handed over through rings.",
        lines_note(WORKLOAD),
        machines=ONE_SERVER,
    )
    return Outcome(
        claims=judge(_claims(options, runs, by_batch[SINGLE])),
        notes=figure_notes,
        numbers={UNITS[batch]: numbers(throughput_eps=rate) for batch, rate in by_batch.items()},
        draw=lambda: draw(
            Layout(
                title="DGS, appendix A.1: outlier detection by workers",
                rows=[[_rates(options, by_batch), _growth(options, by_batch)]],
                notes=figure_notes,
                height_in=2.2,
            )
        ),
    )


def _rates(options: Options, by_batch: dict[int, Series]) -> Panel:
    return Panel(
        title="throughput",
        y_label="connections/s",
        x_label=WORKERS,
        lines=[
            Line(
                name=f"DGS, {UNITS[batch]}",
                points=points(rate, options),
                colour=colour,
            )
            for colour, (batch, rate) in enumerate(by_batch.items())
        ],
        ticks=options.instances,
    )


def _growth(options: Options, by_batch: dict[int, Series]) -> Panel:
    lines = []
    for colour, (batch, rate) in enumerate(by_batch.items()):
        growth = [(n, quotient(rate.at(n), rate.at(1))) for n in rate.by_workers]
        lines.append(
            Line(
                name=f"DGS, {UNITS[batch]}",
                points=[
                    Point(n, gain.value, gain.value, gain.value, n > options.cores)
                    for n, gain in growth
                    if gain is not None
                ],
                colour=colour,
            )
        )
    published = {name: _speedup(name) for name in ("DGS", HANDCRAFTED)}
    share = [fact for fact in published.values() if int(fact.x) in options.instances]
    measured = {UNITS[batch]: rate for batch, rate in by_batch.items()}
    return Panel(
        title="growth",
        y_label="throughput by that of one worker",
        x_label=WORKERS,
        lines=lines,
        marks=[
            Mark(name=f"{fact.series}, published", low=fact.low, high=fact.low, x=float(fact.x))
            for fact in share
        ],
        words=[
            *growth_words(options, measured, published["DGS"]),
            f"by hand in C++, published: {published[HANDCRAFTED].text} at {published[HANDCRAFTED].x} nodes",
        ],
        ticks=options.instances,
    )


FIGURE = Figure(
    id=f"flumina:{NUMBER}",
    title="growth of outlier detection with workers",
    shows="throughput and growth of the case study A.1 against workers; lines of code",
    needs=(WORKLOAD, DGS),
    stages=(stage("rates", "outlier detection at full speed", _tree),),
    outcome=_outcome,
)
