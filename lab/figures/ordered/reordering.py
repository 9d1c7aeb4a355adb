"""Figures 12 and 13 of the ordered pipelines: what putting outputs in order costs.

By default there are also twice as many workers as cores, where one that holds the lock may lose its
core.
"""

from collections.abc import Mapping
from typing import Any

from lab.figures.experiment import engine, events, lone, numbers, plain, points, run_table, stage
from lab.figures.figure import Figure, Outcome, Runs
from lab.figures.judge import Posed, judge
from lab.figures.measured import Series, counter, quotient, scaled, series
from lab.figures.options import Options
from lab.figures.ordered import systems
from lab.figures.ordered.setups import LIGHT, LIGHT_US, MANY, Question, Setup
from lab.figures.ordered.shared import (
    BLOCK,
    NOISE,
    ORDERED,
    RATE,
    TUPLE,
    WORKERS,
    crowded,
    facts,
    iterations,
    notes,
    said,
)
from reports.figures.paper import Layout, Line, Mark, Panel, draw

_BUFFERS = {"nonblocking": "non-blocking", "lock": "lock-based"}
_OPERATOR_US = counter("1_sl-0_cost_ns", 1e-3)


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
                options={"reordering": reordering, "worklist": "hybrid"},
                label=reordering,
            )
            for batch in (TUPLE, BLOCK)
            for reordering in _BUFFERS
        ],
    }


Found = Mapping[tuple[str, int], Series]
"""A quantity by reordering buffer and granularity."""


def _taken(runs: Runs, setup: Setup, value: Any) -> Found:
    return {
        (reordering, batch): series(
            runs[0], setup.key(batch), ORDERED, value, options=f"/b{batch}/{reordering}"
        )
        for batch in setup.records
        for reordering in _BUFFERS
    }


def _speedups(rates: Found) -> Found:
    """Return how many times as fast as one worker with the non-blocking buffer, block for block."""
    found: dict[tuple[str, int], Series] = {}
    for (reordering, batch), rate in rates.items():
        one = rates["nonblocking", batch].at(1)
        base = None if one is None else one.value
        found[reordering, batch] = Series(
            {}
            if base is None
            else {
                n: tuple(scaled(spread, 1 / base) for spread in spreads)
                for n, spreads in rate.by_workers.items()
            }
        )
    return found


def _outcome(question: Question, options: Options, runs: Runs) -> Outcome:
    taken = [
        (setup, _speedups(_taken(runs, setup, RATE)), _taken(runs, setup, _OPERATOR_US))
        for setup in question.setups
    ]
    first = "the first operator's " if question is MANY else ""
    mentioned = notes(
        options,
        runs,
        crowded(options),
        f"{question.about} Costs are nominal; the row of 0.1 us is this lab's own, for few cores.",
        f"Cost of a tuple: {first}time with a worker by tuples, sending what is next in order and "
        "waiting for the lock included.",
        "Speedup: over one worker with the non-blocking buffer and the same granularity.",
    )
    return Outcome(
        claims=judge(
            [
                claim
                for setup, speedup, cost in taken
                for claim in _claims(question, options, setup, speedup, cost)
            ]
        ),
        notes=mentioned,
        numbers={
            f"{setup.title}, {reordering}, batch {batch}": numbers(
                speedup=speedup[reordering, batch], cost_us=cost[reordering, batch]
            )
            for setup, speedup, cost in taken
            for reordering, batch in speedup
        },
        draw=lambda: draw(
            Layout(
                title=f"Ordered pipelines, figure {question.number}: {question.title}",
                rows=[_row(question, options, *each) for each in taken],
                notes=mentioned,
            )
        ),
    )


def _row(
    question: Question, options: Options, setup: Setup, speedup: Found, cost: Found
) -> list[Panel]:
    place = {("nonblocking", TUPLE): 0, ("lock", TUPLE): 1, ("nonblocking", BLOCK): 2,
             ("lock", BLOCK): 3}  # fmt: skip

    def lines(found: Found) -> list[Line]:
        return [
            Line(
                name=f"{_BUFFERS[reordering]}, "
                + ("a tuple at a time" if batch == TUPLE else f"blocks of {BLOCK}"),
                points=points(values, options),
                colour=place[reordering, batch],
            )
            for (reordering, batch), values in found.items()
        ]

    theirs = facts().one(figure=question.number, quantity="per-tuple cost")
    name = f"cost of a tuple at one worker: {theirs.text}"
    mark = Mark(name=name, low=theirs.low, high=theirs.high, x=1)
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


def _claims(
    question: Question, options: Options, setup: Setup, speedup: Found, cost: Found
) -> list[Posed]:
    """Pose the claims on the most workers that have a core each, a tuple at a time."""
    free, lock = (speedup[reordering, TUPLE] for reordering in _BUFFERS)
    free_us, lock_us = (cost[reordering, TUPLE] for reordering in _BUFFERS)
    counted = [n for n in free.workers(crowded(options)) if n <= options.cores]
    blocked, last = lone(options, counted), counted[-1] if counted else 1
    steeper = quotient(
        quotient(lock_us.at(last), lock_us.at(1)), quotient(free_us.at(last), free_us.at(1))
    )
    where = f"{setup.title}, {last} workers: "
    # One operator has one serial number, whoever gives it.
    sides = (
        (systems.NON_BLOCKING_SERIAL, systems.LOCK_SERIAL)
        if question is MANY
        else (systems.NON_BLOCKING, systems.LOCK)
    )
    return [
        said(
            f"{where}non-blocking/lock-based ratio of speedup (3 % for noise)",
            "scales better",
            question.source,
            blocked,
        )
        .between(*sides)
        .shape(quotient(free.at(last), lock.at(last)), NOISE, float("inf"), "x"),
        said(
            f"{where}the cost of a tuple grows by as much more with the lock (3 % for noise)",
            "more steeply",
            question.source,
            blocked,
        )
        .between(*sides)
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
