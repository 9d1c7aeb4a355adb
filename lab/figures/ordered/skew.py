"""Reproduces figure 9 of the ordered pipelines: unequal partitions, hybrid against partitioned queue.

The partitioned queue has as many partitions as workers: ranges of equal width over keys that follow
N(0, sigma). With two workers the border is in the middle of the keys, so both halves are equal for
any sigma and show no skew. Three partitions are therefore measured too: with a small sigma the middle
one has nearly all keys.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

from streamlab.lab.figures.experiment import engine, events, plain, run_table, stage
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.judge import Posed, judge
from streamlab.lab.figures.measurements import Measured, all_of, of_cell, quotient, scaled, series
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.ordered import systems
from streamlab.lab.figures.ordered.shared import (
    NOISE,
    ORDERED,
    RATE,
    TUPLE,
    WORKERS,
    facts,
    in_order,
    iterations,
    notes,
    several,
    spot,
    spread_numbers,
    with_one,
    worded_claim,
)
from streamlab.lab.figures.preconditions import sweep_points, trials
from streamlab.reports.figures.paper import Layout, Line, Panel, Point, draw
from streamlab.results.query import Spread
from streamlab.results.schema import TrialRow
from streamlab.results.stats.estimates import lowest

COST_US = 10
SIGMAS = (0.1, 0.2, 0.4, 1.0, 100.0)
QUICK_SIGMAS = (0.1, 0.4, 100.0)
UNIFORM = 100.0
_RECORDS = (1_000_000, 250_000)
_SOURCE = "section 7.2.1"


def sigmas(options: Options) -> tuple[float, ...]:
    """Return the deviations of keys in [-1, 1], from the most skewed to uniform."""
    return QUICK_SIGMAS if options.quick else SIGMAS


def shares() -> int:
    """Return the paper's number of the hybrid queue's partitions."""
    return int(facts().one(figure="9", series="hybrid", quantity="partitions").low)


def splits(workers: int) -> tuple[int, ...]:
    """Return the numbers of partitions to measure the partitioned queue with."""
    return (workers, 3) if workers == 2 else (workers,)


def _key(sigma: float, partitions: int) -> str:
    return f"parametric@s{sigma:g}-p{partitions}"


def _tree(options: Options) -> dict[str, Any]:
    queues = [("hybrid", shares(), with_one(options))]
    queues += [
        ("partitioned", partitions, (n,)) for n in several(options) for partitions in splits(n)
    ]
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            {
                "name": "parametric",
                "label": _key(sigma, partitions).partition("@")[2],
                "events": events(options, *_RECORDS),
                "params": {"sigma": sigma},
                "query": {
                    "operators": "ps",
                    "iterations": str(iterations(COST_US)),
                    "partitions": partitions,
                },
            }
            for sigma in sigmas(options)
            for partitions in dict.fromkeys(count for _, count, _ in queues)
        ],
        "engine": [
            engine(
                ORDERED,
                options,
                workers=list(workers),
                batch=[TUPLE],
                workloads=[f"parametric@*-p{partitions}"],
                options={"worklist": worklist},
                label=worklist,
            )
            for worklist, partitions, workers in queues
        ],
    }


def _rate(runs: Runs, worklist: str, sigma: float, partitions: int, workers: int) -> Spread | None:
    by_workers = series(runs[0], _key(sigma, partitions), ORDERED, RATE, options=f"/{worklist}")
    spreads = by_workers.by_workers.get(workers)
    return None if spreads is None else spreads[0]


def _speedups(options: Options, runs: Runs, workers: int) -> dict[str, dict[float, Spread | None]]:
    """Return speedups over one worker with the hybrid queue, by queue and sigma."""
    queues = {f"hybrid queue, {shares()} partitions": ("hybrid", shares())}
    queues |= {
        f"partitioned queue, {'as many as workers' if count == workers else '3 partitions'}": (
            "partitioned",
            count,
        )
        for count in splits(workers)
    }
    speedups: dict[str, dict[float, Spread | None]] = {}
    for name, (worklist, count) in queues.items():
        speedups[name] = {}
        for sigma in sigmas(options):
            base = _rate(runs, "hybrid", sigma, shares(), 1)
            rate = _rate(runs, worklist, sigma, count, workers)
            speedups[name][sigma] = (
                None if base is None or rate is None else scaled(rate, 1 / base.median)
            )
    return speedups


def _outcome(options: Options, runs: Runs) -> Outcome:
    speedups = {n: _speedups(options, runs, n) for n in several(options)}
    within = [n for n in speedups if 1 < n <= options.cores]
    most = within[-1] if within else 0
    rows = trials(runs[0], "parametric@", workers=[most])
    posed = _claims(options, speedups.get(most), most, rows)
    figure_notes = notes(
        options,
        runs,
        with_one(options),
        f"One partitioned operator of nominally {COST_US} us a tuple, one tuple at a time; the "
        "paper does not state its operator's cost.",
        "Two equal ranges halve a normal distribution of any deviation: with 2 workers the "
        "partitioned queue shows skew only with a third partition.",
        "Here a worker takes any free partition; no partition belongs to a worker.",
        "The paper's text has no speedups of this figure to overlay.",
    )
    return Outcome(
        claims=judge(posed),
        notes=figure_notes,
        numbers={
            f"{n} workers": {
                name: spread_numbers({f"{sigma:g}": s for sigma, s in values.items()})
                for name, values in each.items()
            }
            for n, each in speedups.items()
        },
        draw=lambda: draw(
            Layout(
                title="Ordered pipelines, figure 9: load imbalance across partitions",
                rows=[[_panel(options, n, each) for n, each in speedups.items()]],
                notes=figure_notes,
                width_in=5.0 if len(speedups) == 1 else 3.1,
                height_in=2.2,
            )
        ),
    )


def _panel(
    options: Options, workers: int, speedups: dict[str, dict[float, Spread | None]]
) -> Panel:
    def line(values: dict[float, Spread | None]) -> list[Point]:
        return [
            point
            for x, spread in enumerate(values.values())
            for point in spot(x, spread, is_open=workers > options.cores)
        ]

    return Panel(
        title=f"{workers} {WORKERS}",
        y_label="speedup over one worker",
        x_label="deviation of keys in [-1, 1]",
        lines=[
            Line(name=name, points=line(values), colour=colour)
            for colour, (name, values) in zip((0, 1, 3), speedups.items(), strict=False)
        ],
        ticks=range(len(sigmas(options))),
        tick_names=["uniform" if s == UNIFORM else f"{s:g}" for s in sigmas(options)],
        span=[min(workers, options.cores)],
        write=plain,
    )


def _claims(
    options: Options,
    speedups: dict[str, dict[float, Spread | None]] | None,
    workers: int,
    rows: Sequence[TrialRow],
) -> tuple[Posed, ...]:
    """Pose the claims on the most workers within the cores."""
    each: list[dict[float, Measured | None]] = [
        {sigma: of_cell(spread) for sigma, spread in values.items()}
        for values in (speedups or {}).values()
    ]
    hybrid, *others = each or [{}, {}]
    skewed, uneven = others[-1], ", 3 partitions" if workers == 2 else ""
    first = sigmas(options)[0]
    steady = [value for value in hybrid.values() if value is not None]
    slowest = [quotient(a, b) for a, b in permutations(steady, 2)]
    ratios = [quotient(v, others[0].get(s)) for s, v in hybrid.items()]
    needs = (
        *in_order(options, rows),
        sweep_points("deviations of keys that the hybrid queue was measured with", len(steady)),
    )
    drop = quotient(skewed.get(first), skewed.get(UNIFORM))
    return (
        worded_claim(
            f"{workers} workers: with uniform keys both queues perform alike, hybrid/partitioned",
            "similarly",
            _SOURCE,
        )
        .between(systems.HYBRID, systems.PARTITIONED)
        .given(*needs)
        .shape(quotient(hybrid.get(UNIFORM), others[0].get(UNIFORM)), 0.85, 1.18, "x"),
        worded_claim(
            f"{workers} workers: the hybrid queue performs consistently, slowest by fastest sigma",
            "consistently",
            _SOURCE,
        )
        .of(systems.HYBRID)
        .given(*needs)
        .shape(all_of(slowest, lowest), 0.85, float("inf"), "x"),
        worded_claim(
            f"{workers} workers: the partitioned queue{uneven} loses speedup, sigma {first:g} by "
            "uniform",
            "drops heavily",
            _SOURCE,
        )
        .of(systems.PARTITIONED)
        .given(*needs)
        .shape(drop, 0.0, 0.75, "x"),
        worded_claim(
            f"{workers} workers: hybrid/partitioned queue{uneven} at sigma {first:g}",
            "better",
            _SOURCE,
        )
        .between(systems.HYBRID, systems.PARTITIONED)
        .given(*needs)
        .shape(quotient(hybrid.get(first), skewed.get(first)), 1.15, float("inf"), "x"),
        worded_claim(
            f"{workers} workers: hybrid is not slower at any sigma than as many partitions as "
            "workers (3 % for noise)",
            "better or similar",
            _SOURCE,
        )
        .between(systems.HYBRID, systems.PARTITIONED)
        .given(*needs)
        .shape(all_of(ratios, lowest), NOISE, float("inf"), "x"),
    )


FIGURE = Figure(
    id="ordered:9",
    title="load imbalance across partitions, hybrid against partitioned queue",
    shows="speedup of a partitioned operator against the skew of its keys",
    needs=("parametric", ORDERED),
    stages=(stage("skew", "every queue under every skew", _tree),),
    outcome=_outcome,
)
