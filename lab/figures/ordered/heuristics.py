"""Reproduces figure 8 of the ordered pipelines: scheduling heuristics on the TPCx-BB queries."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from streamlab.lab.figures.experiment import asked, engine, numbers, plain, points, run_table, stage
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.judge import Posed, judge
from streamlab.lab.figures.measurements import Measured, Series, all_of, quotient, series
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.ordered import systems
from streamlab.lab.figures.ordered.queries import DESCRIPTION, NEEDS, QUERIES, key, workload_tables
from streamlab.lab.figures.ordered.shared import (
    BY_OPERATOR,
    FULL_LATENCY_NOTE,
    LATENCY,
    NOISE,
    ORDERED,
    RATE,
    TUPLE,
    WORKERS,
    facts,
    in_order,
    notes,
    several,
    with_one,
    worded_claim,
)
from streamlab.lab.figures.preconditions import outputs, trials, two_degrees
from streamlab.reports.figures.paper import Layout, Line, Mark, Panel, Point, draw
from streamlab.results.stats.estimates import Estimate, Extreme, Product, highest, lowest, ratio

HEURISTICS = {"CT": "ct", "ET": "et", "LP": "lp", "QST": "qst"}
_COLOURS = {"CT": 0, "ET": 1, "LP": 2, "QST": 3}
_SHIFT = 0.05
"""Distance between heuristics on the axis of workers."""
_SOURCE = "section 7.1"
_NUMBERS = tuple(query.number for query in QUERIES)
Quantity = Mapping[tuple[int, str], Series]
"""A quantity by query and heuristic."""


def _tree(options: Options) -> dict[str, Any]:
    def workers(name: str) -> list[int]:
        # Only CT has a claim on growth, so a quick run omits one worker of the others.
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
    def by_query(value: Any) -> Quantity:
        return {
            (query.number, name): series(
                runs[0], key(query, TUPLE), ORDERED, value, options=f"/b{TUPLE}/{scheduler}"
            )
            for query in QUERIES
            for name, scheduler in HEURISTICS.items()
        }

    rates, latencies = by_query(RATE), by_query(LATENCY)
    figure_notes = notes(
        options,
        runs,
        with_one(options),
        f"Queries of TPCx-BB: {DESCRIPTION} One tuple at a time, as in the paper.",
        FULL_LATENCY_NOTE,
        "The paper's rate is of its machine: drawn, never judged.",
    )
    million = facts().one(figure="8", series="CT", quantity="throughput")
    lowest = facts().one(figure="8", series="LP", quantity="latency")

    def row(quantities: Quantity, y_label: str, mark: Mark, *, late: bool) -> list[Panel]:
        span = [s.median for each in quantities.values() for n in each.by_workers.values()
                for s in n]  # fmt: skip
        return [
            Panel(
                title="" if late else query.panel.capitalize(),
                y_label=y_label,
                x_label=WORKERS,
                lines=[
                    Line(
                        name=name,
                        points=_shifted(points(quantities[query.number, name], options), name),
                        colour=_COLOURS[name],
                    )
                    for name in HEURISTICS
                ],
                marks=[mark],
                log_y=late,
                ticks=with_one(options),
                span=span,
                write=plain if late else None,
            )
            for query in QUERIES
        ]

    return Outcome(
        claims=judge([*_growth(options, rates, runs), *_orders(options, rates, latencies, runs)]),
        notes=figure_notes,
        numbers={
            query.panel: {
                name: numbers(
                    throughput_eps=rates[query.number, name],
                    latency_ms=latencies[query.number, name],
                )
                for name in HEURISTICS
            }
            for query in QUERIES
        },
        draw=lambda: draw(
            Layout(
                title="Ordered pipelines, figure 8: scheduling heuristics on TPCx-BB queries",
                rows=[
                    row(
                        rates,
                        "tuples/s",
                        Mark(
                            name="CT: approximately millions of t/s",
                            low=million.low,
                            high=million.high,
                        ),
                        late=False,
                    ),
                    row(
                        latencies,
                        "processing latency, mean, ms",
                        Mark(
                            name="LP: a few ms (read as below 10)",
                            low=0,
                            high=lowest.high,
                            colour=2,
                        ),
                        late=True,
                    ),
                ],
                notes=figure_notes,
                width_in=1.9,
            )
        ),
    )


def _shifted(line: Sequence[Point], name: str) -> list[Point]:
    """Shift points sideways, so that equal points of other heuristics stay visible."""
    shift = _SHIFT * (list(HEURISTICS).index(name) - (len(HEURISTICS) - 1) / 2)
    return [replace(point, x=point.x + shift) for point in line]


def _growth(options: Options, rates: Quantity, runs: Runs) -> list[Posed]:
    """Pose the claims on CT's growth with workers, within the range of the paper's linear growth."""
    claims = []
    for query in QUERIES:
        fact = facts().one(figure="8", panel=query.panel, quantity="linear growth")
        ct = rates[query.number, "CT"]
        counted = [n for n in ct.workers(with_one(options)) if n <= min(options.cores, fact.high)]
        first, last = (counted[0], counted[-1]) if counted else (1, 1)
        growth = quotient(ct.at(last), ct.at(first))
        linear = None if growth is None else ratio(growth, Product((), last / first))
        claims.append(
            asked(
                f"{query.panel}: CT grows almost linearly from {first} to {last} workers",
                fact,
            )
            .of(systems.CT)
            .given(
                two_degrees(options, ct, [n for n in with_one(options) if n <= fact.high]),
                outputs(trials(runs[0], f"{query.workload}@", "/ct", workers=counted)),
            )
            .shape(linear, 0.8, 1.25, "of linear")
        )
    return claims


def _orders(options: Options, rates: Quantity, late: Quantity, runs: Runs) -> list[Posed]:
    """Pose the claims on the highest throughput and the lowest latency, with several workers."""
    within = [n for n in several(options) if n <= options.cores]
    needs = in_order(options, trials(runs[0], f"/{ORDERED}/", workers=within))
    same = facts().one(figure="8", series="LP/CT", quantity="throughput")
    few = facts().one(figure="8", series="LP", quantity="latency")
    lp = [v for n in _NUMBERS if (v := late[n, "LP"].lowest(within)) is not None]
    no_faster = most(_ratios(rates, ["ET", "QST"], ["CT", "LP"], within))
    no_later = most(_ratios(late, ["LP"], ["CT", "ET", "QST"], within, late=True))
    inf = float("inf")
    return [
        worded_claim(
            "CT has the best throughput on every query (5 % for noise): CT by the best other",
            "the best",
            _SOURCE,
        )
        .between(systems.CT, systems.OTHERS_THAN_CT)
        .given(*needs)
        .shape(least(_ratios(rates, ["CT"], ["ET", "LP", "QST"], within)), 0.95, inf, "x"),
        asked("LP/CT ratio of throughput, least of queries 1 and 15", same)
        .between(systems.LP, systems.CT)
        .given(*needs)
        .near(
            least(_ratios(rates, ["LP"], ["CT"], within, numbers_of=(1, 15))),
            same.low,
            same.high,
            0.1,
            "x",
        ),
        worded_claim(
            "ET and QST do not reach CT or LP on any query: the better of each pair",
            "below",
            _SOURCE,
        )
        .between(systems.ET_QST, systems.CT_LP)
        .given(*needs)
        .shape(no_faster, 0.0, 1 / NOISE, "x"),
        worded_claim(
            "LP has the lowest latency on every query: LP by the best other",
            "the lowest",
            _SOURCE,
        )
        .between(systems.LP, systems.OTHERS_THAN_LP)
        .given(*needs)
        .shape(no_later, 0.0, 1.1, "x"),
        worded_claim(
            "ET and QST have higher latencies than LP on every query: the better of them by LP",
            "quite high",
            _SOURCE,
        )
        .between(systems.ET_QST, systems.LP)
        .given(*needs)
        .shape(least(_ratios(late, ["ET", "QST"], ["LP"], within, late=True)), 1.0, inf, "x"),
        asked("LP's latency, lowest of the queries, at most", few)
        .of(systems.LP)
        .given(*needs)
        .at_most(lowest(lp) if lp else None, few.high, "ms"),
    ]


def _ratios(
    quantity: Quantity,
    above: Sequence[str],
    below: Sequence[str],
    within: Sequence[int],
    *,
    late: bool = False,
    numbers_of: Sequence[int] = _NUMBERS,
) -> list[Measured | None]:
    """Return for each query the ratio of the best of `above` to the best of `below`.

    The ratio is None if a heuristic has no value.

    Args:
        quantity: throughput or latency.
        above: heuristics of the numerator.
        below: heuristics of the denominator.
        within: numbers of workers to include.
        late: whether lower is better.
        numbers_of: numbers of the queries.
    """

    def best(number: int, names: Sequence[str]) -> Measured | None:
        each = [quantity[number, name] for name in names]
        values = [s.lowest(within) if late else s.highest(within) for s in each]
        present = tuple(value for value in values if value is not None)
        return Extreme(present, highest=not late) if len(present) == len(values) else None

    return [quotient(best(number, above), best(number, below)) for number in numbers_of]


def least(ratios: Sequence[Measured | None]) -> Estimate | None:
    """Return the lowest ratio; None if any is missing."""
    return all_of(ratios, lowest)


def most(ratios: Sequence[Measured | None]) -> Estimate | None:
    """Return the highest ratio; None if any is missing."""
    return all_of(ratios, highest)


FIGURE = Figure(
    id="ordered:8",
    title="scheduling heuristics CT, ET, LP, QST on the TPCx-BB queries",
    shows="throughput and processing latency of five queries against workers",
    needs=(*NEEDS, ORDERED),
    stages=(stage("heuristics", "every query under every heuristic", _tree),),
    outcome=_outcome,
)
