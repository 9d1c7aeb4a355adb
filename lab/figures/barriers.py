"""Draws the rate against the ratio of values to barriers: the cost of synchronization.

At low ratios, more workers may lower the rate. The figure shows the lab's own targets, not a paper's.
Inputs of all ratios have the same number of values. `benchmarks/barriers.toml` has the same cells and more.
"""

from collections.abc import Mapping

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import (
    engine,
    events,
    notes,
    outcome,
    run_table,
    spot,
    spread_numbers,
    stage,
)
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.measurements import Series, all_of, column, quotient, series
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.paper import Paper
from streamlab.lab.figures.preconditions import cores, outputs, trials
from streamlab.reports.figures.paper import Line, Panel
from streamlab.reports.numbers import counted_workers
from streamlab.reports.published import Facts
from streamlab.results.query import Spread
from streamlab.results.stats.estimates import lowest

DGS = "multicore/dgs"
RATIOS = (10, 100, 1_000, 10_000, 100_000)
"""Values per stream between two barriers."""
UNITS = {1: "value by value", 4096: "in blocks of 4,096"}
"""Units of hand-over by batch."""
DEFAULT, COST = "default", "by-cost"
PLANS = {DEFAULT: "default plan", COST: "plan by cost"}
_EVENTS = (40_000_000, 2_000_000)
"""Events per trial, usually and with `--quick`."""
_STREAMS = 2

LAB = Paper(name="lab")

Rates = Mapping[tuple[int, str, int], Series]
"""Rates against workers, by ratio, plan and batch."""


def degrees(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers: one and the chosen ones; two is the default choice."""
    return tuple(sorted({1, *(options.workers or (2,))}))


def _tree(options: Options) -> dict[str, JsonValue]:
    parallel_degrees = [n for n in degrees(options) if n > 1]
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
            engine(DGS, options, workers=workers, batch=list(UNITS), **fields)
            for workers, fields in (
                (list(degrees(options)), {"label": DEFAULT}),
                (parallel_degrees, {"options": {"optimizer": "cost"}, "label": COST}),
            )
            if workers
        ],
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


def _outcome(options: Options, runs: Runs) -> Outcome:
    rates = _rates(runs)
    plans = [(DEFAULT, n) for n in degrees(options)]
    plans += [(COST, n) for n in degrees(options) if n > 1]

    def by_ratio(batch: int, plan: str, workers: int) -> dict[int, Spread | None]:
        return {
            ratio: next(iter(rates[ratio, plan, batch].by_workers.get(workers, ())), None)
            for ratio in RATIOS
        }

    claims = []
    for batch, unit in UNITS.items():
        for n in degrees(options):
            if n == 1:
                continue
            ratios = [
                quotient(rates[ratio, COST, batch].at(n), rates[ratio, DEFAULT, batch].at(1))
                for ratio in RATIOS
            ]
            rows = trials(runs[0], f"/{DGS}/", f"/b{batch}/", workers=[1, n])
            needs = (cores(options, n), outputs(rows))
            claims.append(
                LAB.pose("barriers", "not slower", all_of(ratios, lowest), *needs, unit=unit, n=n)
            )

    panels = [
        Panel(
            title=unit,
            y_label="events/s",
            x_label="values of a stream between two barriers",
            lines=[
                Line(
                    name=f"{counted_workers(n)}, {PLANS[plan]}",
                    points=[
                        point
                        for index, spread in enumerate(by_ratio(batch, plan, n).values())
                        for point in spot(index, spread, is_open=n > options.cores)
                    ],
                    colour=colour,
                )
                for colour, (plan, n) in enumerate(plans)
            ],
            log_y=True,
            tick_names=[f"{ratio:,}" for ratio in RATIOS],
        )
        for batch, unit in UNITS.items()
    ]
    return outcome(
        claims,
        notes(
            options,
            runs,
            "The plan by cost may use fewer workers than available: then its line is that of one.",
            begin=[
                f"{options.cores} cores. Event windows, {events(options, *_EVENTS):,} values from "
                "memory, at full speed; both axes are logarithmic."
            ],
            degrees=degrees(options),
        ),
        {
            f"{unit}, {PLANS[plan]}, {counted_workers(n)}": spread_numbers(
                {str(ratio): s for ratio, s in by_ratio(batch, plan, n).items()}
            )
            for batch, unit in UNITS.items()
            for plan, n in plans
        },
        "event windows: rate against values per barrier",
        [panels],
        width_in=3.6,
        height_in=2.4,
    )


def facts() -> Facts:
    """Return no published numbers: these figures have none."""
    return Facts(())


FIGURES = (
    Figure(
        id="lab:barriers",
        title="rate against values per barrier, by default plan and by cost",
        shows="throughput of event windows with one worker and with more",
        needs=("event_window", DGS),
        stages=(stage("rates", "five ratios at full speed", _tree),),
        outcome=_outcome,
    ),
)
