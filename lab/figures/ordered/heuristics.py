"""Reproduces figure 8 of the ordered pipelines: scheduling heuristics on the TPCx-BB queries."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from streamlab.lab.figures.experiment import (
    engine,
    lines,
    numbers,
    outcome,
    plain,
    run_table,
    stage,
)
from streamlab.lab.figures.figure import Figure, Outcome, Runs, Tree
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.measurements import Measured, Series, Value, all_of, quotient, series
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.ordered.paper_setup import (
    BY_OPERATOR,
    DESCRIPTION,
    FULL_LATENCY_NOTE,
    LATENCY,
    ORDERED,
    PAPER,
    QUERIES,
    RATE,
    TUPLE,
    WORKERS,
    WORKLOADS,
    in_order,
    key,
    notes,
    several,
    with_one,
    workload_tables,
)
from streamlab.lab.figures.preconditions import outputs, trials, two_degrees
from streamlab.reports.figures.paper import Line, Mark, Panel
from streamlab.results.stats.estimates import Estimate, Extreme, Product, highest, lowest, ratio

HEURISTICS = {"CT": "ct", "ET": "et", "LP": "lp", "QST": "qst"}
_SHIFT = 0.05
"""Distance between heuristics on the axis of workers."""
_NUMBERS = tuple(query.number for query in QUERIES)
Quantity = Mapping[tuple[int, str], Series]
"""A quantity by query and heuristic."""


def _tree(options: Options) -> Tree:
    def workers(name: str) -> list[int]:
        # Only heuristic CT has a claim on growth, so a quick run measures the others without the one-worker cells.
        return list(with_one(options) if name == "CT" or not options.quick else several(options))

    return {
        "run": run_table(options, timeout_s=600),
        "workload": workload_tables(options, [TUPLE]),
        "engine": [
            engine(
                ORDERED,
                options,
                workers=workers(name),
                batch=[TUPLE],
                options={"scheduler": scheduler, "worklist": "hybrid", **BY_OPERATOR},
                label=scheduler,
            )
            for name, scheduler in HEURISTICS.items()
        ],
    }


def _outcome(options: Options, runs: Runs) -> Outcome:
    def by_query(value: Value) -> Quantity:
        return {
            (query.number, name): series(
                runs[0], key(query, TUPLE), ORDERED, value, options=f"/b{TUPLE}/{scheduler}"
            )
            for query in QUERIES
            for name, scheduler in HEURISTICS.items()
        }

    rates, latencies = by_query(RATE), by_query(LATENCY)
    ct_rate = PAPER.fact("8", series="CT", quantity="throughput")
    lp_latency = PAPER.fact("8", series="LP", quantity="latency")

    def row(quantities: Quantity, y_label: str, mark: Mark, *, is_latency: bool) -> list[Panel]:
        span = [s.median for each in quantities.values() for n in each.by_workers.values()
                for s in n]  # fmt: skip
        return [
            Panel(
                title="" if is_latency else query.panel.capitalize(),
                y_label=y_label,
                x_label=WORKERS,
                lines=_shift_lines(
                    lines({name: quantities[query.number, name] for name in HEURISTICS}, options)
                ),
                marks=[mark],
                log_y=is_latency,
                ticks=with_one(options),
                span=span,
                write=plain if is_latency else None,
            )
            for query in QUERIES
        ]

    rate_mark = Mark(name="CT: approximately millions of t/s", low=ct_rate.low, high=ct_rate.high)
    latency_mark = Mark(
        name="LP: a few ms (read as below 10)", low=0, high=lp_latency.high, colour=2
    )
    return outcome(
        [*_growth_claims(options, rates, runs), *_order_claims(options, rates, latencies, runs)],
        notes(
            options,
            runs,
            with_one(options),
            f"Queries of TPCx-BB: {DESCRIPTION} One tuple at a time, as in the paper.",
            FULL_LATENCY_NOTE,
            "The paper's rate is of its machine: drawn, never judged.",
        ),
        {
            query.panel: {
                name: numbers(
                    throughput_eps=rates[query.number, name],
                    latency_ms=latencies[query.number, name],
                )
                for name in HEURISTICS
            }
            for query in QUERIES
        },
        "Ordered pipelines, figure 8: scheduling heuristics on TPCx-BB queries",
        [
            row(rates, "tuples/s", rate_mark, is_latency=False),
            row(latencies, "processing latency, mean, ms", latency_mark, is_latency=True),
        ],
        width_in=1.9,
    )


def _shift_lines(lines: Sequence[Line]) -> list[Line]:
    """Shift lines sideways, so that equal points of different heuristics stay visible."""
    shifts = [_SHIFT * (index - (len(lines) - 1) / 2) for index in range(len(lines))]
    return [
        replace(line, points=[replace(point, x=point.x + shift) for point in line.points])
        for line, shift in zip(lines, shifts, strict=True)
    ]


def _growth_claims(options: Options, rates: Quantity, runs: Runs) -> list[MeasuredClaim]:
    """Pose the claims on CT's growth with workers, within the range in which the paper shows linear growth."""
    claims = []
    for query in QUERIES:
        limit = PAPER.fact("8", panel=query.panel, quantity="linear growth").high
        ct = rates[query.number, "CT"]
        degrees = [n for n in with_one(options) if n <= limit]
        measured_workers = ct.workers(n for n in degrees if n <= options.cores)
        fewest, most = ct.ends(measured_workers)
        growth = quotient(ct.at(most), ct.at(fewest))
        claims.append(
            PAPER.pose(
                "8",
                "linear growth",
                None if growth is None else ratio(growth, Product((), most / fewest)),
                two_degrees(options, ct, degrees),
                outputs(trials(runs[0], f"{query.workload}@", "/ct", workers=measured_workers)),
                panel=query.panel,
                first=fewest,
                last=most,
            )
        )
    return claims


def _order_claims(
    options: Options, rates: Quantity, latencies: Quantity, runs: Runs
) -> list[MeasuredClaim]:
    """Pose the claims on the highest throughput and the lowest latency, with several workers."""
    within = [n for n in several(options) if n <= options.cores]
    needs = in_order(options, trials(runs[0], f"/{ORDERED}/", workers=within))
    lp = [v for n in _NUMBERS if (v := latencies[n, "LP"].lowest(within)) is not None]
    best = _ratios(rates, ["CT"], ["ET", "LP", "QST"], within)
    lp_by_ct = _ratios(rates, ["LP"], ["CT"], within, numbers_of=(1, 15))
    slower = _ratios(rates, ["ET", "QST"], ["CT", "LP"], within)
    lowest_latency = _ratios(latencies, ["LP"], ["CT", "ET", "QST"], within, is_latency=True)
    later_outputs = _ratios(latencies, ["ET", "QST"], ["LP"], within, is_latency=True)
    measured: dict[str, Estimate | None] = {
        "best throughput": all_of(best, lowest),
        "LP by CT": all_of(lp_by_ct, lowest),
        "slower": all_of(slower, highest),
        "lowest latency": all_of(lowest_latency, highest),
        "later": all_of(later_outputs, lowest),
        "LP's latency": lowest(lp) if lp else None,
    }
    return PAPER.pose_all("8", measured, *needs)


def _ratios(
    quantity: Quantity,
    dividends: Sequence[str],
    divisors: Sequence[str],
    within: Sequence[int],
    *,
    is_latency: bool = False,
    numbers_of: Sequence[int] = _NUMBERS,
) -> list[Measured | None]:
    """Return, for each query, the best value of `dividends` divided by the best value of `divisors`.

    A ratio is None if a heuristic has no value. The best latency (`is_latency`) is the lowest.
    """

    def best(number: int, names: Sequence[str]) -> Measured | None:
        series_by_name = [quantity[number, name] for name in names]
        values = [s.lowest(within) if is_latency else s.highest(within) for s in series_by_name]
        present = tuple(value for value in values if value is not None)
        return Extreme(present, highest=not is_latency) if len(present) == len(values) else None

    return [quotient(best(number, dividends), best(number, divisors)) for number in numbers_of]


FIGURE = Figure(
    id="ordered:8",
    title="scheduling heuristics CT, ET, LP, QST on the TPCx-BB queries",
    shows="throughput and processing latency of five queries against workers",
    needs=(*WORKLOADS, ORDERED),
    stages=(stage("heuristics", "every query under every heuristic", _tree),),
    outcome=_outcome,
)
