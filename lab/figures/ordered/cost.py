"""Reproduces figure 10 of the ordered pipelines: latency of ordered outputs against a tuple's cost."""

from collections.abc import Mapping
from typing import Any

from streamlab.lab.figures.experiment import asked, engine, events, plain, run_table, stage
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.judge import judge
from streamlab.lab.figures.measurements import Measured, all_of, counter, of_cell, quotient, series
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.ordered import systems
from streamlab.lab.figures.ordered.shared import (
    LATENCY,
    ORDERED,
    TUPLE,
    WORKERS,
    facts,
    in_order,
    iterations,
    notes,
    several,
    spot,
    spread_numbers,
    worded_claim,
)
from streamlab.lab.figures.ordered.skew import shares
from streamlab.lab.figures.preconditions import sweep_points, trials
from streamlab.reports.figures.paper import Layout, Line, Mark, Panel, Point, draw
from streamlab.results.query import Spread
from streamlab.results.stats.estimates import highest

WINDOW = 64
"""Tuples in flight. With this lab's default of 1,024, an operator of 10 ms would not be steady in a
trial: a partition may fall behind the others by this many tuples."""
_RECORDS = {10: (1_200_000, 300_000), 100: (120_000, 40_000), 1000: (20_000, 5_000),
            10_000: (6_000, 1_000)}  # fmt: skip
"""Input records, usual and quick, by nominal cost in us."""
_QUEUES = {"hybrid": "hybrid queue", "partitioned": "partitioned queue"}
_MEDIAN_MS = counter("processing_p50_ns", 1e-6)
_OPERATOR_MS = counter("1_ps-0_cost_ns", 1e-6)
_SOURCE = "section 7.2.2"
_MOST = 2.0
"""Highest ratio of latency to cost that counts as "close to the cost". No latency is below the cost."""


def costs() -> tuple[int, ...]:
    """Return the paper's costs of a tuple, in us."""
    return tuple(int(fact.low) for fact in facts().of(figure="10", quantity="per-tuple cost"))


def _key(cost_us: int, partitions: int) -> str:
    return f"parametric@c{cost_us}-p{partitions}"


def _tree(options: Options) -> dict[str, Any]:
    queues = [("hybrid", shares(), several(options))]
    queues += [("partitioned", n, (n,)) for n in several(options)]
    return {
        "run": run_table(options, timeout_s=900),
        "workload": [
            {
                "name": "parametric",
                "label": _key(cost_us, partitions).partition("@")[2],
                "events": events(options, *_RECORDS[cost_us]),
                "query": {
                    "operators": "ps",
                    "iterations": str(iterations(cost_us)),
                    "partitions": partitions,
                },
            }
            for cost_us in costs()
            for partitions in dict.fromkeys(count for _, count, _ in queues)
        ],
        "engine": [
            engine(
                ORDERED,
                options,
                workers=list(workers),
                batch=[TUPLE],
                workloads=[f"parametric@*-p{partitions}"],
                options={"worklist": worklist, "window": WINDOW},
                label=worklist,
            )
            for worklist, partitions, workers in queues
        ],
    }


Quantity = Mapping[tuple[str, int], Spread | None]
"""A quantity by queue and cost."""


def _quantity(runs: Runs, workers: int, value: Any) -> Quantity:
    quantity = {}
    for worklist in _QUEUES:
        partitions = shares() if worklist == "hybrid" else workers
        for cost_us in costs():
            by_workers = series(
                runs[0], _key(cost_us, partitions), ORDERED, value, options=f"/{worklist}"
            ).by_workers
            spreads = by_workers.get(workers)
            quantity[worklist, cost_us] = None if spreads is None else spreads[0]
    return quantity


def _outcome(options: Options, runs: Runs) -> Outcome:
    median = {n: _quantity(runs, n, _MEDIAN_MS) for n in several(options)}
    mean = {n: _quantity(runs, n, LATENCY) for n in several(options)}
    cost = {n: _quantity(runs, n, _OPERATOR_MS) for n in several(options)}
    within = [n for n in median if 1 < n <= options.cores]
    n = within[-1] if within else several(options)[-1]

    def estimate(quantity: Quantity, queue: str, cost_us: int) -> Measured | None:
        return of_cell(quantity[queue, cost_us])

    waits = [
        quotient(estimate(median[n], "hybrid", c), estimate(median[n], "partitioned", c))
        for c in costs()
    ]
    close = [
        quotient(estimate(median[n], "hybrid", c), estimate(cost[n], "hybrid", c)) for c in costs()
    ]
    needs = (
        *in_order(options, trials(runs[0], "parametric@", workers=[n])),
        sweep_points(
            "costs that both queues were measured with", sum(w is not None for w in waits)
        ),
    )
    near = facts().one(figure="10", series="hybrid/cost")
    posed = (
        worded_claim(
            f"{n} workers: hybrid/partitioned ratio of latency, highest of the costs",
            "much lower",
            _SOURCE,
        )
        .between(systems.HYBRID, systems.PARTITIONED)
        .given(*needs)
        .shape(all_of(waits, highest), 0.0, 1.0, "x"),
        asked(
            f"{n} workers: the hybrid queue's latency by the operator's cost, highest of the costs",
            near,
        )
        .of(systems.HYBRID)
        .given(*needs)
        .near(all_of(close, highest), near.low, near.high * _MOST, 0.1, "x"),
    )
    figure_notes = notes(
        options,
        runs,
        several(options),
        "One partitioned operator, uniform keys, one tuple at a time. Costs are nominal, by "
        "iterations; the operator's own cost is as measured with the hybrid queue.",
        f"Partitions: {shares()} with the hybrid queue, as many as workers with the partitioned "
        f"queue. At most {WINDOW} tuples are in flight, which bounds the wait of a tuple.",
        "Latency: from when a worker takes a tuple until its output leaves in order; one in 64 is "
        "timed, of the costliest some fifteen in a quick run. It is the median, the paper's is the "
        "mean: one interruption of a worker is longer than many tuples of 10 us.",
    )
    return Outcome(
        claims=judge(posed),
        notes=figure_notes,
        numbers={
            f"{workers} workers": {
                name: spread_numbers({f"{q}, {c} us": s for (q, c), s in quantity[workers].items()})
                for name, quantity in (
                    ("latency_p50_ms", median),
                    ("latency_mean_ms", mean),
                    ("cost_ms", cost),
                )
            }
            for workers in median
        },
        draw=lambda: draw(
            Layout(
                title="Ordered pipelines, figure 10: latency against per-tuple cost",
                rows=[[_panel(options, w, median[w], cost[w]) for w in median]],
                notes=figure_notes,
                width_in=5.0 if len(median) == 1 else 3.1,
                height_in=2.2,
            )
        ),
    )


def _panel(options: Options, workers: int, latency: Quantity, cost: Quantity) -> Panel:
    def line(quantity: Quantity, queue: str) -> list[Point]:
        return [
            point
            for x, cost_us in enumerate(costs())
            for point in spot(x, quantity[queue, cost_us], is_open=workers > options.cores)
        ]

    return Panel(
        title=f"{workers} {WORKERS}",
        y_label="processing latency, median, ms",
        x_label="nominal cost of a tuple, us",
        lines=[
            Line(name="hybrid queue", points=line(latency, "hybrid"), colour=0),
            Line(name="partitioned queue", points=line(latency, "partitioned"), colour=1),
            Line(
                name="operator's own cost",
                points=line(cost, "hybrid"),
                colour=2,
                style="plain",
            ),
        ],
        marks=[
            Mark(
                name="hybrid queue: close to the cost",
                low=cost_us / 1000,
                high=cost_us / 1000,
                x=x,
                colour=0,
            )
            for x, cost_us in enumerate(costs())
        ],
        log_y=True,
        ticks=range(len(costs())),
        tick_names=[f"{cost_us:,}" for cost_us in costs()],
        write=plain,
    )


FIGURE = Figure(
    id="ordered:10",
    title="latency against per-tuple cost, hybrid against partitioned queue",
    shows="processing latency of a partitioned operator whose tuples take 10 us to 10 ms",
    needs=("parametric", ORDERED),
    stages=(stage("costs", "both queues with every cost", _tree),),
    outcome=_outcome,
)
