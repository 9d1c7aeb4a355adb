"""Reproduces figures 12 and 13 of the ordered pipelines: the cost of reordering outputs.

The default numbers of workers include twice the cores, so that the holder of the lock may lose its core.
The paper's operators take 10 us and more, and its sixteen cores contend for the reordering buffer. A few
cores do not contend at that cost, so a second row of panels has operators that do almost no work.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from streamlab.lab.figures.experiment import (
    engine,
    events,
    lines,
    numbers,
    outcome,
    plain,
    run_table,
    stage,
)
from streamlab.lab.figures.figure import Figure, Outcome, Runs, Tree
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.measurements import Series, Value, counter, quotient, scaled, series
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.ordered.paper_setup import (
    BLOCK,
    BY_OPERATOR,
    ORDERED,
    PAPER,
    RATE,
    REORDERING_BUFFERS,
    SOURCE_NOTE,
    TUPLE,
    WORKERS,
    drawn_forms,
    form_name,
    in_order,
    iterations,
    notes,
    worker_counts,
)
from streamlab.lab.figures.preconditions import trials, two_degrees
from streamlab.reports.figures.paper import Line, Mark, Panel

LIGHT_US = 0.1
"""Nominal cost per tuple at an operator that does almost no work."""
SELECTIVITY = 50
"""Output tuples per input tuple at the first operator of figure 13."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A pipeline and its input sizes.

    Attributes:
        name: part of the workload's key.
        operators, selectivity: parameters of the parametric pipeline.
        cost_us: nominal cost per tuple at each operator.
        records: input records, usual and quick, by granularity.
    """

    name: str
    title: str
    operators: str
    selectivity: str
    cost_us: float
    records: Mapping[int, tuple[int, int]]

    def key(self, batch: int) -> str:
        """Return the workload's key in the matrix."""
        return f"parametric@{self.name}-b{batch}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The values in which figures 12 and 13 differ; each figure is one `Question`.

    Attributes:
        about: a sentence on the pipelines, for the notes.
    """

    number: str
    title: str
    section: str
    setups: tuple[Setup, ...]
    about: str


LIGHT = Question(
    number="12",
    title="reordering outputs of a light-weight operator",
    section="section 7.3.1",
    setups=(
        Setup(
            name="c10",
            title="10 us a tuple",
            operators="sl",
            selectivity="1",
            cost_us=10,
            records={TUPLE: (1_000_000, 250_000)},
        ),
        Setup(
            name="light",
            title="0.1 us a tuple",
            operators="sl",
            selectivity="1",
            cost_us=LIGHT_US,
            records={TUPLE: (16_000_000, 5_000_000), BLOCK: (40_000_000, 15_000_000)},
        ),
    ),
    about="One stateless operator.",
)
MANY = Question(
    number="13",
    title="reordering outputs of an operator with selectivity 50",
    section="section 7.3.2",
    setups=(
        Setup(
            name="c100",
            title="100 us a tuple",
            operators="sl,ps",
            selectivity=f"{SELECTIVITY},1",
            cost_us=100,
            records={TUPLE: (4_000, 1_000)},
        ),
        Setup(
            name="light",
            title="0.1 us a tuple",
            operators="sl,ps",
            selectivity=f"{SELECTIVITY},1",
            cost_us=LIGHT_US,
            records={TUPLE: (1_000_000, 250_000), BLOCK: (1_000_000, 250_000)},
        ),
    ),
    about=f"A stateless operator that makes {SELECTIVITY} tuples of one, and a partitioned one.",
)
_OPERATOR_US = counter("1_sl-0_cost_ns", 1e-3)


def _tree(question: Question, options: Options) -> Tree:
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
                workers=list(worker_counts(options)),
                batch=[batch],
                workloads=[f"*-b{batch}"],
                options={"reordering": scheme, "worklist": "hybrid"}
                | (BY_OPERATOR if label == scheme else {}),
                label=label,
            )
            for label, scheme, batch in drawn_forms(REORDERING_BUFFERS, (TUPLE, BLOCK))
        ],
    }


Quantity = Mapping[tuple[str, int], Series]
"""A quantity by label of an engine table and granularity."""


def _quantity(runs: Runs, setup: Setup, value: Value) -> Quantity:
    return {
        (label, batch): series(
            runs[0], setup.key(batch), ORDERED, value, options=f"/b{batch}/{label}"
        )
        for label, _, batch in drawn_forms(REORDERING_BUFFERS, setup.records)
    }


def _speedups(rates: Quantity) -> Quantity:
    """Return speedups over one worker with the non-blocking buffer, at equal form and granularity."""
    speedups: dict[tuple[str, int], Series] = {}
    for label, reordering, batch in drawn_forms(REORDERING_BUFFERS, (TUPLE, BLOCK)):
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
            _speedups(_quantity(runs, setup, RATE)),
            _quantity(runs, setup, _OPERATOR_US),
        )
        for setup in question.setups
    ]
    first = "the first operator's " if question is MANY else ""
    return outcome(
        [claim for each in by_setup for claim in _claims(question, options, runs, *each)],
        notes(
            options,
            runs,
            worker_counts(options),
            f"{question.about} Costs are nominal; the row of 0.1 us is this lab's own, for few "
            "cores.",
            f"Cost of a tuple: {first}time with a worker by tuples, including sending the next "
            "outputs in order and waiting for the lock.",
            "Speedup: over one worker with the non-blocking buffer, same form and granularity.",
            SOURCE_NOTE,
        ),
        {
            f"{setup.title}, {reordering}, batch {batch}": numbers(
                speedup=speedup[reordering, batch], cost_us=cost[reordering, batch]
            )
            for setup, speedup, cost in by_setup
            for reordering, batch in speedup
        },
        f"Ordered pipelines, figure {question.number}: {question.title}",
        [_row(question, options, *each) for each in by_setup],
    )


def _row(
    question: Question, options: Options, setup: Setup, speedup: Quantity, cost: Quantity
) -> list[Panel]:
    all_forms = drawn_forms(REORDERING_BUFFERS, (TUPLE, BLOCK))

    def drawn_lines(quantity: Quantity) -> list[Line]:
        present = [
            (colour, *each)
            for colour, each in enumerate(all_forms)
            if (each[0], each[2]) in quantity
        ]
        named = {
            _name(label, reordering, batch): quantity[label, batch]
            for _, label, reordering, batch in present
        }
        return lines(named, options, [colour for colour, *_ in present])

    fact = PAPER.fact(question.number, quantity="per-tuple cost")
    name = f"cost of a tuple at one worker: {fact.text}"
    mark = Mark(name=name, low=fact.low, high=fact.high, x=1)
    return [
        Panel(
            title=f"{setup.title}: speedup",
            y_label="speedup over one worker",
            x_label=WORKERS,
            lines=drawn_lines(speedup),
            ticks=worker_counts(options),
            write=plain,
        ),
        Panel(
            title="First operator's cost" if question is MANY else "Cost of a tuple",
            y_label="us a tuple",
            x_label=WORKERS,
            lines=drawn_lines(cost),
            marks=[mark] if setup.cost_us > LIGHT_US else [],
            ticks=worker_counts(options),
            log_y=True,
            write=plain,
        ),
    ]


def _name(label: str, reordering: str, batch: int) -> str:
    return form_name(REORDERING_BUFFERS[reordering], is_paper=label == reordering, batch=batch)


def _claims(
    question: Question,
    options: Options,
    runs: Runs,
    setup: Setup,
    speedup: Quantity,
    cost: Quantity,
) -> list[MeasuredClaim]:
    """Pose the claims for the most workers within the cores, one tuple at a time, in the paper's form."""
    nonblocking, lock = (speedup[scheme, TUPLE] for scheme in REORDERING_BUFFERS)
    free_us, lock_us = (cost[scheme, TUPLE] for scheme in REORDERING_BUFFERS)
    _, last = nonblocking.ends(n for n in worker_counts(options) if n <= options.cores)
    needs = (
        two_degrees(options, nonblocking, worker_counts(options)),
        *in_order(options, trials(runs[0], setup.key(TUPLE), workers=[last])),
    )
    rate_ratio = quotient(nonblocking.at(last), lock.at(last))
    cost_growth_ratio = quotient(
        quotient(lock_us.at(last), lock_us.at(1)), quotient(free_us.at(last), free_us.at(1))
    )
    words = {
        "title": setup.title,
        "n": last,
        "section": question.section,
    }
    measured = {"speedup": rate_ratio, "cost": cost_growth_ratio}
    return PAPER.pose_all(question.number, measured, *needs, **words)


def _figure(question: Question) -> Figure:
    about = "both buffers with every number of workers"
    return Figure(
        id=f"ordered:{question.number}",
        title=f"{question.title}, lock-based against non-blocking",
        shows="speedup and cost of a tuple against workers, by tuples and by blocks",
        needs=("parametric", ORDERED),
        stages=(stage("reordering", about, partial(_tree, question)),),
        outcome=partial(_outcome, question),
    )


FIGURE_12 = _figure(LIGHT)
FIGURE_13 = _figure(MANY)
