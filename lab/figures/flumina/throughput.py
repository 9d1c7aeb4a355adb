"""Reproduces figures 8 and A1 of DGS: throughput of its three programs, and of outlier detection.

The paper's input of outlier detection (appendix A.1) is the KDD Cup's. Here connections are generated,
as many as in its 10 % file.
"""

from collections.abc import Mapping

from streamlab.lab.figures.experiment import (
    degree_panel,
    events,
    numbers,
    outcome,
    run_table,
    stage,
)
from streamlab.lab.figures.figure import Figure, Outcome, Runs, Tree
from streamlab.lab.figures.flumina.shared import (
    DGS,
    ONE_SERVER,
    PAPER,
    PROGRAMS,
    RATE,
    SINGLE,
    UNITS,
    WORKERS,
    Program,
    growth,
    growth_words,
    lines_note,
    notes,
    per_barrier,
    scaling,
    streams,
    synchronizations,
    units,
)
from streamlab.lab.figures.measurements import Series, quotient, series
from streamlab.lab.figures.options import Options
from streamlab.reports.figures.paper import Line, Mark, Panel, Point

_EVENTS = (20_000_000, 2_000_000)
OUTLIERS = "outlier_detection"
CONNECTIONS_PER_CHECK = 20_000
"""Connections of all streams between checks: 25 checks in as many connections as the file has. The
public code checks every 1,000 s, on an input without times."""
_CONNECTIONS = (494_021, 100_000)
"""The rows of the KDD Cup's 10 % file."""


def _by_batch(runs: Runs, workload: str) -> dict[int, Series]:
    """Return the throughput of a workload against workers, by batch."""
    return {batch: series(runs[0], workload, DGS, RATE, options=f"/b{batch}") for batch in UNITS}


def _tree_8(options: Options) -> Tree:
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            program.table(events(options, *_EVENTS), streams(options)) for program in PROGRAMS
        ],
        "engine": units(options),
    }


def _outcome_8(options: Options, runs: Runs) -> Outcome:
    rates = {
        (p, batch): rate for p in PROGRAMS for batch, rate in _by_batch(runs, p.workload).items()
    }

    def panel(program: Program, batch: int) -> Panel:
        rate, title = rates[program, batch], f"{program.panel}, {UNITS[batch]}"
        words = growth_words(options, {"measured": rate}, scaling(program, "DGS"))
        return degree_panel(options, title, "events/s", {"DGS, native engine": rate}, words=words)

    return outcome(
        [
            claim
            for p in PROGRAMS
            for claim in growth(
                options,
                scaling(p, "DGS"),
                rates[p, SINGLE],
                *synchronizations(runs[0], p.workload, f"/b{SINGLE}", workers=options.within),
            )
        ],
        notes(
            options,
            runs,
            options.instances,
            f"Every input has {streams(options)} streams and one of synchronizing events, one each "
            f"{per_barrier():,} events of a stream; the paper adds a stream with each node.",
            "Claims are about single events, each handed over through a ring, as producers hand "
            "them to mailboxes in the paper. From memory, at full speed.",
        ),
        {
            f"{p.panel}, {UNITS[batch]}": numbers(throughput_eps=rate)
            for (p, batch), rate in rates.items()
        },
        "DGS, figure 8: maximum throughput against parallelism",
        [[panel(p, batch) for p in PROGRAMS] for batch in UNITS],
    )


def _tree_a1(options: Options) -> Tree:
    count = streams(options)
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            {
                "name": OUTLIERS,
                "events": events(options, *_CONNECTIONS),
                "params": {
                    "streams": count,
                    "connections_per_check": CONNECTIONS_PER_CHECK // count,
                },
            }
        ],
        "engine": units(options),
    }


def _outcome_a1(options: Options, runs: Runs) -> Outcome:
    by_batch = _by_batch(runs, OUTLIERS)
    by_unit = {UNITS[batch]: rate for batch, rate in by_batch.items()}
    speedup, by_hand = (
        PAPER.fact("A1", series=name, quantity="speedup") for name in ("DGS", "handcrafted")
    )
    needs = synchronizations(runs[0], f"/b{SINGLE}", workers=options.within)
    growth_panel = Panel(
        title="growth",
        y_label="throughput by that of one worker",
        x_label=WORKERS,
        lines=_growth_lines(options, by_unit),
        marks=[
            Mark(name=f"{fact.series}, published", low=fact.low, high=fact.low, x=float(fact.x))
            for fact in (speedup, by_hand)
            if int(fact.x) in options.instances
        ],
        words=[
            *growth_words(options, by_unit, speedup),
            f"by hand in C++, published: {by_hand.text} at {by_hand.x} nodes",
        ],
        ticks=options.instances,
    )
    named = {f"DGS, {unit}": rate for unit, rate in by_unit.items()}
    rates_panel = degree_panel(options, "throughput", "connections/s", named)
    return outcome(
        [
            *growth(options, speedup, by_batch[SINGLE], *needs),
            PAPER.pose("A1", "by hand", None, nodes=by_hand.x),
        ],
        notes(
            options,
            runs,
            options.instances,
            f"Generated connections in {streams(options)} streams, a check each "
            f"{CONNECTIONS_PER_CHECK:,} of all; the paper: the KDD Cup's, on 1 to 8 nodes. From "
            "memory, at full speed; claims are about single events, handed over through rings.",
            lines_note(OUTLIERS),
            machines=ONE_SERVER,
        ),
        {unit: numbers(throughput_eps=rate) for unit, rate in by_unit.items()},
        "DGS, appendix A.1: outlier detection by workers",
        [[rates_panel, growth_panel]],
        height_in=2.2,
    )


def _growth_lines(options: Options, by_unit: Mapping[str, Series]) -> list[Line]:
    return [
        Line(
            name=f"DGS, {unit}",
            points=[
                Point(n, gain.value, gain.value, gain.value, n > options.cores)
                for n in rate.by_workers
                if (gain := quotient(rate.at(n), rate.at(1))) is not None
            ],
            colour=colour,
        )
        for colour, (unit, rate) in enumerate(by_unit.items())
    ]


FIGURE_8 = Figure(
    id="flumina:8",
    title="maximum throughput of synchronization plans",
    shows="throughput of event windows, page-view join, fraud detection against workers",
    needs=(*(program.workload for program in PROGRAMS), DGS),
    stages=(stage("rates", "three programs at full speed", _tree_8),),
    outcome=_outcome_8,
)
FIGURE_A1 = Figure(
    id="flumina:A1",
    title="growth of outlier detection with workers",
    shows="throughput and growth of the case study A.1 against workers; lines of code",
    needs=(OUTLIERS, DGS),
    stages=(stage("rates", "outlier detection at full speed", _tree_a1),),
    outcome=_outcome_a1,
)
