"""Reproduces figures 12 and 13 of the ordered pipelines: the cost of reordering outputs.

The default numbers of workers include twice the cores, where the holder of the lock may lose its core.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from streamlab.lab.figures.experiment import (
    engine,
    events,
    numbers,
    plain,
    points,
    run_table,
    stage,
)
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.judge import Posed, judge
from streamlab.lab.figures.measurements import Series, counter, quotient, scaled, series
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.ordered import systems
from streamlab.lab.figures.ordered.setups import LIGHT, LIGHT_US, MANY, Question, Setup
from streamlab.lab.figures.ordered.shared import (
    BLOCK,
    BY_OPERATOR,
    NOISE,
    ORDERED,
    RATE,
    SOURCE_NOTE,
    TUPLE,
    WORKERS,
    by_source,
    crowded,
    facts,
    in_order,
    iterations,
    notes,
    worded_claim,
)
from streamlab.lab.figures.preconditions import trials, two_degrees
from streamlab.reports.figures.paper import Layout, Line, Mark, Panel, draw

_BUFFERS = {"nonblocking": "non-blocking", "lock": "lock-based"}
_OPERATOR_US = counter("1_sl-0_cost_ns", 1e-3)


def _drawn(question: Question, batches: Iterable[int]) -> list[tuple[str, str, int]]:
    """Return label, buffer and granularity of each drawn series, the judged ones first."""
    if not question.by_operator:
        return [(name, name, batch) for batch in batches for name in _BUFFERS]
    source_forms = [(by_source(name), name, batch) for batch in batches for name in _BUFFERS]
    return [*((name, name, TUPLE) for name in _BUFFERS), *source_forms]


def _engine_options(question: Question, label: str, reordering: str) -> dict[str, Any]:
    chosen: dict[str, Any] = {"reordering": reordering, "worklist": "hybrid"}
    judged = question.by_operator and label == reordering
    return chosen | BY_OPERATOR if judged else chosen


def _tree(question: Question, options: Options) -> dict[str, Any]:
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            {
                "name": "parametric",
                "label": setup.key(batch).partition("@")[2],
                "events": events(options, *records),
                "query": {
                    "operators": setup.operators,
                    "iterations": str(iterations(setup.cost_us)),
                    "selectivity": setup.selectivity,
                },
            }
            for setup in question.setups
            for batch, records in setup.records.items()
        ],
        "engine": [
            engine(
                ORDERED,
                options,
                workers=list(crowded(options)),
                batch=[batch],
                workloads=[f"*-b{batch}"],
                options=_engine_options(question, label, reordering),
                label=label,
            )
            for label, reordering, batch in _drawn(question, (TUPLE, BLOCK))
        ],
    }


Quantity = Mapping[tuple[str, int], Series]
"""A quantity by label of an engine table and granularity."""


def _quantity(question: Question, runs: Runs, setup: Setup, value: Any) -> Quantity:
    return {
        (label, batch): series(
            runs[0], setup.key(batch), ORDERED, value, options=f"/b{batch}/{label}"
        )
        for label, _, batch in _drawn(question, setup.records)
    }


def _speedups(question: Question, rates: Quantity) -> Quantity:
    """Return speedups over one worker with the non-blocking buffer, of equal form and granularity."""
    speedups: dict[tuple[str, int], Series] = {}
    for label, reordering, batch in _drawn(question, dict.fromkeys(b for _, b in rates)):
        if (label, batch) not in rates:
            continue
        rate = rates[label, batch]
        single = rates[label.replace(reordering, "nonblocking"), batch].at(1)
        base = None if single is None else single.value
        speedups[label, batch] = Series(
            {}
            if base is None
            else {
                n: tuple(scaled(spread, 1 / base) for spread in spreads)
                for n, spreads in rate.by_workers.items()
            }
        )
    return speedups


def _outcome(question: Question, options: Options, runs: Runs) -> Outcome:
    by_setup = [
        (
            setup,
            _speedups(question, _quantity(question, runs, setup, RATE)),
            _quantity(question, runs, setup, _OPERATOR_US),
        )
        for setup in question.setups
    ]
    first = "the first operator's " if question is MANY else ""
    figure_notes = notes(
        options,
        runs,
        crowded(options),
        f"{question.about} Costs are nominal; the row of 0.1 us is this lab's own, for few cores.",
        f"Cost of a tuple: {first}time with a worker by tuples, including sending the next outputs "
        "in order and waiting for the lock.",
        "Speedup: over one worker with the non-blocking buffer, same form and granularity.",
        *([SOURCE_NOTE] if question.by_operator else []),
    )
    return Outcome(
        claims=judge(
            [
                claim
                for setup, speedup, cost in by_setup
                for claim in _claims(question, options, runs, setup, speedup, cost)
            ]
        ),
        notes=figure_notes,
        numbers={
            f"{setup.title}, {reordering}, batch {batch}": numbers(
                speedup=speedup[reordering, batch], cost_us=cost[reordering, batch]
            )
            for setup, speedup, cost in by_setup
            for reordering, batch in speedup
        },
        draw=lambda: draw(
            Layout(
                title=f"Ordered pipelines, figure {question.number}: {question.title}",
                rows=[_row(question, options, *each) for each in by_setup],
                notes=figure_notes,
            )
        ),
    )


def _row(
    question: Question, options: Options, setup: Setup, speedup: Quantity, cost: Quantity
) -> list[Panel]:
    every = _drawn(question, (TUPLE, BLOCK))
    place = {(label, batch): colour for colour, (label, _, batch) in enumerate(every)}

    def lines(quantity: Quantity) -> list[Line]:
        return [
            Line(
                name=_name(question, label, reordering, batch),
                points=points(quantity[label, batch], options),
                colour=place[label, batch],
            )
            for label, reordering, batch in every
            if (label, batch) in quantity
        ]

    fact = facts().one(figure=question.number, quantity="per-tuple cost")
    name = f"cost of a tuple at one worker: {fact.text}"
    mark = Mark(name=name, low=fact.low, high=fact.high, x=1)
    return [
        Panel(
            title=f"{setup.title}: speedup",
            y_label="speedup over one worker",
            x_label=WORKERS,
            lines=lines(speedup),
            ticks=crowded(options),
            write=plain,
        ),
        Panel(
            title="First operator's cost" if question is MANY else "Cost of a tuple",
            y_label="us a tuple",
            x_label=WORKERS,
            lines=lines(cost),
            marks=[mark] if setup.cost_us > LIGHT_US else [],
            ticks=crowded(options),
            log_y=True,
            write=plain,
        ),
    ]


def _name(question: Question, label: str, reordering: str, batch: int) -> str:
    granularity = "a tuple at a time" if batch == TUPLE else f"blocks of {BLOCK}"
    if not question.by_operator:
        return f"{_BUFFERS[reordering]}, {granularity}"
    judged = label == reordering
    return f"{_BUFFERS[reordering]}, " + ("the paper's" if judged else f"own, {granularity}")


def _claims(
    question: Question,
    options: Options,
    runs: Runs,
    setup: Setup,
    speedup: Quantity,
    cost: Quantity,
) -> list[Posed]:
    """Pose the claims on the most workers within the cores, a tuple at a time.

    With several operators both sides are the paper's form.
    """
    free, lock = (speedup[reordering, TUPLE] for reordering in _BUFFERS)
    free_us, lock_us = (cost[reordering, TUPLE] for reordering in _BUFFERS)
    counted = [n for n in free.workers(crowded(options)) if n <= options.cores]
    last = counted[-1] if counted else 1
    needs = (
        two_degrees(options, free, crowded(options)),
        *in_order(options, trials(runs[0], setup.key(TUPLE), workers=[last])),
    )
    steeper = quotient(
        quotient(lock_us.at(last), lock_us.at(1)), quotient(free_us.at(last), free_us.at(1))
    )
    prefix = f"{setup.title}, {last} workers: "
    # With one operator, serials of the source and of operators are the same.
    sides = (
        (systems.NON_BLOCKING_SERIAL, systems.LOCK_SERIAL)
        if question.by_operator
        else (systems.NON_BLOCKING, systems.LOCK)
    )
    return [
        worded_claim(
            f"{prefix}non-blocking/lock-based ratio of speedup (3 % for noise)",
            "scales better",
            question.source,
        )
        .between(*sides)
        .given(*needs)
        .shape(quotient(free.at(last), lock.at(last)), NOISE, float("inf"), "x"),
        worded_claim(
            f"{prefix}the cost of a tuple grows by as much more with the lock (3 % for noise)",
            "more steeply",
            question.source,
        )
        .between(*sides)
        .given(*needs)
        .shape(steeper, NOISE, float("inf"), "x"),
    ]


def _figure(question: Question) -> Figure:
    return Figure(
        id=f"ordered:{question.number}",
        title=f"{question.title}, lock-based against non-blocking",
        shows="speedup and cost of a tuple against workers, by tuples and by blocks",
        needs=("parametric", ORDERED),
        stages=(
            stage(
                "reordering",
                "both buffers with every number of workers",
                lambda options: _tree(question, options),
            ),
        ),
        outcome=lambda options, runs: _outcome(question, options, runs),
    )


FIGURE_12 = _figure(LIGHT)
FIGURE_13 = _figure(MANY)
