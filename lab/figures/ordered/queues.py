"""Reproduces figures 9 and 10 of the ordered pipelines: both kinds of queue on one partitioned operator.

Figure 9 has unequal partitions. The partitioned queue has as many partitions as workers. Each partition is
a range of keys; all ranges have equal width, but the keys follow N(0, sigma). With two workers the border is
in the middle of the keys, so both halves are equal for any sigma and show no skew. The runs therefore also
measure three partitions: with a small sigma the middle partition has nearly all keys.
Figure 10 shows the latency of ordered outputs against the cost per tuple, with uniform keys.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import (
    engine,
    events,
    outcome,
    plain,
    run_table,
    spot,
    spread_numbers,
    stage,
)
from streamlab.lab.figures.figure import Figure, Outcome, Runs, Tree
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.measurements import (
    Measured,
    Value,
    all_of,
    counter,
    of_cell,
    quotient,
    scaled,
    series,
)
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.ordered.paper_setup import (
    BY_OPERATOR,
    LATENCY,
    ORDERED,
    PAPER,
    RATE,
    TUPLE,
    WORKERS,
    facts,
    in_order,
    iterations,
    notes,
    several,
    shares,
    with_one,
)
from streamlab.lab.figures.preconditions import sweep_points, trials
from streamlab.reports.figures.paper import Line, Mark, Panel, Point
from streamlab.results.query import Spread
from streamlab.results.schema import TrialRow
from streamlab.results.stats.estimates import highest, lowest

COST_US = 10
"""Nominal cost per tuple in figure 9; the paper states none."""
SIGMAS = (0.1, 0.2, 0.4, 1.0, 100.0)
"""Standard deviations of keys in [-1, 1]."""
QUICK_SIGMAS = (0.1, 0.4, 100.0)
UNIFORM = 100.0
"""Standard deviation at which keys in [-1, 1] are practically uniform."""
_RECORDS_9 = (1_000_000, 250_000)
"""Input records, usually and with `--quick`."""
WINDOW = 64
"""Tuples in flight: a partition may fall behind the others by this number. With the lab's default of
1,024, an operator of 10 ms per tuple would not become steady within a trial."""
_RECORDS_10 = {10: (1_200_000, 300_000), 100: (120_000, 40_000), 1000: (20_000, 5_000),
               10_000: (6_000, 1_000)}  # fmt: skip
"""Input records, usual and quick, by nominal cost in us."""
_QUEUES = ("hybrid", "partitioned")

Spreads = Mapping[float, Spread | None]
"""A quantity by sigma or by cost; None without a value."""


def sigmas(options: Options) -> tuple[float, ...]:
    """Return the standard deviations of keys in [-1, 1], from the most skewed to uniform."""
    return QUICK_SIGMAS if options.quick else SIGMAS


def splits(workers: int) -> tuple[int, ...]:
    """Return the numbers of partitions with which to measure the partitioned queue."""
    return (workers, 3) if workers == 2 else (workers,)


def costs() -> tuple[int, ...]:
    """Return the paper's costs per tuple, in us."""
    return tuple(int(fact.low) for fact in facts().of(figure="10", quantity="per-tuple cost"))


def _key(sweep: str, partitions: int) -> str:
    return f"parametric@{sweep}-p{partitions}"


def _workload(
    sweep: str, partitions: int, events: int, cost_us: float, **fields: Any
) -> dict[str, JsonValue]:
    """Return the `[[workload]]` table of one partitioned operator."""
    return {
        "name": "parametric",
        "label": _key(sweep, partitions).partition("@")[2],
        "events": events,
        **fields,
        "query": {
            "operators": "ps",
            "iterations": str(iterations(cost_us)),
            "partitions": partitions,
        },
    }


def _engines(
    options: Options, queues: Sequence[tuple[str, int, tuple[int, ...]]], **engine_options: Any
) -> list[dict[str, JsonValue]]:
    """Return an `[[engine]]` table for each of `queues`: its kind, partitions and numbers of workers."""
    return [
        engine(
            ORDERED,
            options,
            workers=list(workers),
            batch=[TUPLE],
            workloads=[f"parametric@*-p{partitions}"],
            options={"worklist": worklist, **BY_OPERATOR, **engine_options},
            label=worklist,
        )
        for worklist, partitions, workers in queues
    ]


def _spread(
    runs: Runs, worklist: str, sweep: str, partitions: int, workers: int, value: Value
) -> Spread | None:
    key = _key(sweep, partitions)
    measured = series(runs[0], key, ORDERED, value, options=f"/{worklist}")
    return next(iter(measured.by_workers.get(workers, ())), None)


def _points(spreads: Spreads, *, is_open: bool) -> list[Point]:
    return [
        point
        for x, spread in enumerate(spreads.values())
        for point in spot(x, spread, is_open=is_open)
    ]


def _tree_9(options: Options) -> Tree:
    queues = [("hybrid", shares(), with_one(options))]
    queues += [
        ("partitioned", partitions, (n,)) for n in several(options) for partitions in splits(n)
    ]
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            _workload(
                f"s{sigma:g}",
                partitions,
                events(options, *_RECORDS_9),
                COST_US,
                params={"sigma": sigma},
            )
            for sigma in sigmas(options)
            for partitions in dict.fromkeys(count for _, count, _ in queues)
        ],
        "engine": _engines(options, queues),
    }


def _speedups(options: Options, runs: Runs, workers: int) -> dict[str, Spreads]:
    """Return speedups over one worker with the hybrid queue, by queue and sigma."""
    queues = {f"hybrid queue, {shares()} partitions": ("hybrid", shares())}
    for count in splits(workers):
        partitions = "as many as workers" if count == workers else "3 partitions"
        queues[f"partitioned queue, {partitions}"] = ("partitioned", count)

    def speedup(worklist: str, count: int, sigma: float) -> Spread | None:
        base = _spread(runs, "hybrid", f"s{sigma:g}", shares(), 1, RATE)
        rate = _spread(runs, worklist, f"s{sigma:g}", count, workers, RATE)
        return None if base is None or rate is None else scaled(rate, 1 / base.median)

    return {
        name: {sigma: speedup(*queue, sigma) for sigma in sigmas(options)}
        for name, queue in queues.items()
    }


def _outcome_9(options: Options, runs: Runs) -> Outcome:
    speedups = {n: _speedups(options, runs, n) for n in several(options)}
    within = [n for n in speedups if 1 < n <= options.cores]
    most = within[-1] if within else 0
    rows = trials(runs[0], "parametric@", workers=[most])
    return outcome(
        _claims_9(options, speedups.get(most, {}), most, rows),
        notes(
            options,
            runs,
            with_one(options),
            f"One partitioned operator of nominally {COST_US} us a tuple, one tuple at a time; the "
            "paper does not state its operator's cost.",
            "Two equal ranges halve a normal distribution of any deviation: with 2 workers the "
            "partitioned queue shows skew only with a third partition.",
            "Here a worker takes any free partition; no partition belongs to a worker.",
            "The paper's text has no speedups of this figure to overlay.",
        ),
        {
            f"{n} workers": {
                name: spread_numbers({f"{sigma:g}": s for sigma, s in values.items()})
                for name, values in each.items()
            }
            for n, each in speedups.items()
        },
        "Ordered pipelines, figure 9: load imbalance across partitions",
        [[_panel_9(options, n, each) for n, each in speedups.items()]],
        width_in=5.0 if len(speedups) == 1 else 3.1,
        height_in=2.2,
    )


def _panel_9(options: Options, workers: int, speedups: Mapping[str, Spreads]) -> Panel:
    return Panel(
        title=f"{workers} {WORKERS}",
        y_label="speedup over one worker",
        x_label="deviation of keys in [-1, 1]",
        lines=[
            Line(
                name=name,
                points=_points(values, is_open=workers > options.cores),
                colour=colour,
            )
            for colour, (name, values) in zip((0, 1, 3), speedups.items(), strict=False)
        ],
        tick_names=["uniform" if s == UNIFORM else f"{s:g}" for s in sigmas(options)],
        span=[min(workers, options.cores)],
        write=plain,
    )


def _claims_9(
    options: Options, speedups: Mapping[str, Spreads], workers: int, rows: Sequence[TrialRow]
) -> list[MeasuredClaim]:
    """Pose the claims for the most workers within the cores."""
    each: list[dict[float, Measured | None]] = [
        {sigma: of_cell(spread) for sigma, spread in values.items()} for values in speedups.values()
    ]
    hybrid, *partitioned = each or [{}, {}]
    equal, skewed = partitioned[0], partitioned[-1]
    first = sigmas(options)[0]
    steady = [value for value in hybrid.values() if value is not None]
    slowest = [quotient(a, b) for a, b in permutations(steady, 2)]
    ratios = [quotient(value, equal.get(sigma)) for sigma, value in hybrid.items()]
    needs = (
        *in_order(options, rows),
        sweep_points("deviations of keys that the hybrid queue was measured with", len(steady)),
    )
    words = {"n": workers, "uneven": ", 3 partitions" if workers == 2 else "", "sigma": first}
    measured = {
        "uniform": quotient(hybrid.get(UNIFORM), equal.get(UNIFORM)),
        "consistent": all_of(slowest, lowest),
        "drop": quotient(skewed.get(first), skewed.get(UNIFORM)),
        "skewed": quotient(hybrid.get(first), skewed.get(first)),
        "not slower": all_of(ratios, lowest),
    }
    return PAPER.pose_all("9", measured, *needs, **words)


def _tree_10(options: Options) -> Tree:
    queues = [("hybrid", shares(), several(options))]
    queues += [("partitioned", n, (n,)) for n in several(options)]
    return {
        "run": run_table(options, timeout_s=900),
        "workload": [
            _workload(f"c{cost_us}", partitions, events(options, *_RECORDS_10[cost_us]), cost_us)
            for cost_us in costs()
            for partitions in dict.fromkeys(count for _, count, _ in queues)
        ],
        "engine": _engines(options, queues, window=WINDOW),
    }


def _quantity(runs: Runs, workers: int, value: Value) -> dict[str, Spreads]:
    """Return a quantity by queue and cost."""
    return {
        worklist: {
            cost_us: _spread(runs, worklist, f"c{cost_us}", partitions, workers, value)
            for cost_us in costs()
        }
        for worklist, partitions in zip(_QUEUES, (shares(), workers), strict=True)
    }


def _outcome_10(options: Options, runs: Runs) -> Outcome:
    median, mean, cost = (
        {n: _quantity(runs, n, value) for n in several(options)}
        for value in (
            counter("processing_p50_ns", 1e-6),
            LATENCY,
            counter("1_ps-0_cost_ns", 1e-6),
        )
    )
    within = [n for n in median if 1 < n <= options.cores]
    n = within[-1] if within else several(options)[-1]

    def ratios(divisors: Spreads) -> list[Measured | None]:
        hybrid = median[n]["hybrid"]
        return [quotient(of_cell(hybrid[c]), of_cell(divisors[c])) for c in costs()]

    to_partitioned, to_cost = ratios(median[n]["partitioned"]), ratios(cost[n]["hybrid"])
    needs = (
        *in_order(options, trials(runs[0], "parametric@", workers=[n])),
        sweep_points(
            "costs that both queues were measured with",
            sum(ratio is not None for ratio in to_partitioned),
        ),
    )
    measured = {
        "lower latency": all_of(to_partitioned, highest),
        "close to the cost": all_of(to_cost, highest),
    }
    return outcome(
        PAPER.pose_all("10", measured, *needs, n=n),
        notes(
            options,
            runs,
            several(options),
            "One partitioned operator, uniform keys, one tuple at a time. Costs are nominal, by "
            "iterations; the operator's own cost is as measured with the hybrid queue.",
            f"Partitions: {shares()} with the hybrid queue, as many as workers with the partitioned "
            f"queue. At most {WINDOW} tuples are in flight, which bounds the wait of a tuple.",
            "Latency: from when a worker takes a tuple until its output leaves in order; one in 64 "
            "is timed, of the costliest some nine in a quick run. It is the median, the paper's "
            "is the mean: one interruption of a worker is longer than many tuples of 10 us.",
        ),
        {
            f"{workers} workers": {
                name: spread_numbers(
                    {
                        f"{queue}, {cost_us} us": spread
                        for queue, spreads in quantity[workers].items()
                        for cost_us, spread in spreads.items()
                    }
                )
                for name, quantity in (
                    ("latency_p50_ms", median),
                    ("latency_mean_ms", mean),
                    ("cost_ms", cost),
                )
            }
            for workers in median
        },
        "Ordered pipelines, figure 10: latency against per-tuple cost",
        [[_panel_10(options, w, median[w], cost[w]["hybrid"]) for w in median]],
        width_in=5.0 if len(median) == 1 else 3.1,
        height_in=2.2,
    )


def _panel_10(
    options: Options, workers: int, latency: Mapping[str, Spreads], cost: Spreads
) -> Panel:
    is_open = workers > options.cores
    return Panel(
        title=f"{workers} {WORKERS}",
        y_label="processing latency, median, ms",
        x_label="nominal cost of a tuple, us",
        lines=[
            *(
                Line(name=f"{queue} queue", points=_points(values, is_open=is_open), colour=colour)
                for colour, (queue, values) in enumerate(latency.items())
            ),
            Line(
                name="operator's own cost",
                points=_points(cost, is_open=is_open),
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
        tick_names=[f"{cost_us:,}" for cost_us in costs()],
        write=plain,
    )


SKEW = Figure(
    id="ordered:9",
    title="load imbalance across partitions, hybrid against partitioned queue",
    shows="speedup of a partitioned operator against the skew of its keys",
    needs=("parametric", ORDERED),
    stages=(stage("skew", "every queue under every skew", _tree_9),),
    outcome=_outcome_9,
)
COST = Figure(
    id="ordered:10",
    title="latency against per-tuple cost, hybrid against partitioned queue",
    shows="processing latency of a partitioned operator whose tuples take 10 us to 10 ms",
    needs=("parametric", ORDERED),
    stages=(stage("costs", "both queues with every cost", _tree_10),),
    outcome=_outcome_10,
)
