"""Draws the rate against values per barrier: the cost of synchronization, and when workers slow it.

Every ratio has the same number of values. `benchmarks/barriers.toml` has the same cells and more.
"""

from collections.abc import Mapping
from typing import Any

from streamlab.lab.figures.experiment import (
    beyond_note,
    engine,
    events,
    quick_note,
    run_table,
    scale_note,
    stage,
)
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.judge import PublishedClaim, judge
from streamlab.lab.figures.measurements import (
    Measured,
    Series,
    all_of,
    column,
    machine,
    quotient,
    series,
    troubles,
)
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import cores, outputs, trials
from streamlab.lab.figures.systems import OWN, System
from streamlab.reports.figures.paper import Layout, Line, Panel, Point, draw
from streamlab.results.stats.estimates import lowest

DGS = "multicore/dgs"
RATIOS = (10, 100, 1_000, 10_000, 100_000)
"""Values of each stream between two barriers."""
UNITS = {1: "value by value", 4096: "in blocks of 4,096"}
"""Units of hand-over by batch."""
DEFAULT, COST = "default", "by-cost"
PLANS = {DEFAULT: "default plan", COST: "plan by cost"}
NOT_SLOWER = 0.95
"""Share of one worker's rate that the plan by cost must keep with more workers, at every ratio."""
_EVENTS = (40_000_000, 2_000_000)
_STREAMS = 2

BY_COST = System(
    name="by cost",
    source=f"{OWN}: the optimizer by cost",
    algorithm="several workers in the plan that is chosen by cost",
    variant=DGS,
)
ONE_WORKER = System(
    name="one worker", source=OWN, algorithm="one worker, without synchronization", variant=DGS
)

Rates = Mapping[tuple[int, str, int], Series]
"""Rates against workers, by ratio, plan and batch."""


def degrees(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers: one and two, or one and the chosen ones."""
    return tuple(sorted({1, *(options.workers or (2,))}))


def _tree(options: Options) -> dict[str, Any]:
    more = [n for n in degrees(options) if n > 1]
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            {
                "name": "event_window",
                "label": f"per-{ratio}",
                "events": events(options, *_EVENTS),
                "params": {
                    "streams": max(_STREAMS, *degrees(options)),
                    "values_per_barrier": ratio,
                },
            }
            for ratio in RATIOS
        ],
        "engine": [
            engine(DGS, options, workers=list(degrees(options)), batch=list(UNITS), label=DEFAULT)
        ]
        + [
            engine(
                DGS,
                options,
                workers=more,
                batch=list(UNITS),
                options={"optimizer": "cost"},
                label=COST,
            )
        ]
        * bool(more),
    }


def _rates(runs: Runs) -> Rates:
    rate = column("throughput_eps")
    return {
        (ratio, plan, batch): series(
            runs[0], f"event_window@per-{ratio}", DGS, rate, options=f"/b{batch}/{plan}"
        )
        for ratio in RATIOS
        for plan in PLANS
        for batch in UNITS
    }


def _cost_ratios(rates: Rates, batch: int, workers: int) -> list[Measured | None]:
    """Return at each ratio the rate of the plan by cost relative to one worker's."""
    return [
        quotient(rates[ratio, COST, batch].at(workers), rates[ratio, DEFAULT, batch].at(1))
        for ratio in RATIOS
    ]


def _outcome(options: Options, runs: Runs) -> Outcome:
    rates = _rates(runs)
    claims = [
        PublishedClaim(
            text=f"{UNITS[batch]}: {n} workers by cost by one worker, lowest of all ratios",
            published=f"nowhere: a target of this lab, at least {NOT_SLOWER}",
            source="benchmarks/targets.toml: by cost",
        )
        .between(BY_COST, ONE_WORKER)
        .given(
            cores(options, n),
            outputs(trials(runs[0], f"/{DGS}/", f"/b{batch}/", workers=[1, n])),
        )
        .at_least(all_of(_cost_ratios(rates, batch, n), lowest), NOT_SLOWER, "x")
        for batch in UNITS
        for n in degrees(options)
        if n > 1
    ]
    figure_notes = (
        f"{options.cores} cores. Event windows, {events(options, *_EVENTS):,} values from memory, "
        "at full speed; both axes are logarithmic.",
        *quick_note(options),
        *scale_note(options),
        *beyond_note(options, degrees(options)),
        "The plan by cost may use fewer workers than available: then its line is that of one.",
        *machine(runs),
        *troubles(runs)[:6],
    )
    return Outcome(
        claims=judge(claims),
        notes=figure_notes,
        numbers={
            f"{UNITS[batch]}, {PLANS[plan]}, {n} worker{'s' * (n > 1)}": _numbers(
                rates, plan, batch, n
            )
            for batch in UNITS
            for plan in PLANS
            for n in degrees(options)
            if plan == DEFAULT or n > 1
        },
        draw=lambda: draw(
            Layout(
                title="event windows: rate against values per barrier",
                rows=[[_panel(options, rates, batch) for batch in UNITS]],
                notes=figure_notes,
                width_in=3.6,
                height_in=2.4,
            )
        ),
    )


def _numbers(rates: Rates, plan: str, batch: int, workers: int) -> dict[str, Any]:
    return {
        str(ratio): {"n": s.n, "median": s.median, "min": s.low, "max": s.high}
        for ratio in RATIOS
        for s in rates[ratio, plan, batch].by_workers.get(workers, ())
    }


def _panel(options: Options, rates: Rates, batch: int) -> Panel:
    lines = [(DEFAULT, n) for n in degrees(options)]
    lines += [(COST, n) for n in degrees(options) if n > 1]
    return Panel(
        title=UNITS[batch],
        y_label="events/s",
        x_label="values of a stream between two barriers",
        lines=[
            Line(
                name=f"{n} worker{'s' * (n > 1)}, {PLANS[plan]}",
                points=[
                    Point(place, s.median, s.low, s.high, n > options.cores)
                    for place, ratio in enumerate(RATIOS)
                    for s in rates[ratio, plan, batch].by_workers.get(n, ())
                ],
                colour=colour,
            )
            for colour, (plan, n) in enumerate(lines)
        ],
        log_y=True,
        ticks=range(len(RATIOS)),
        tick_names=[f"{ratio:,}" for ratio in RATIOS],
    )


FIGURE = Figure(
    id="lab:barriers",
    title="rate against values per barrier, by default plan and by cost",
    shows="throughput of event windows with one worker and with more",
    needs=("event_window", DGS),
    stages=(stage("rates", "five ratios at full speed", _tree),),
    outcome=_outcome,
)
