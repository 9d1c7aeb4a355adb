"""Reproduces figure 8 of STRETCH: ScaleJoin on the general operator, hand-written, and on one thread.

The claims are about the paper's systems: Operator 10 on virtual shared-nothing instances, ScaleJoin as
published, and the same loop on one thread (1T). All handle one tuple at a time.
The figure also draws two systems without a claim. One is Operator 10 on shared-nothing instances
(Algorithm 1), which the paper does not show for this join. The other is this lab's own forms, which
compare columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import (
    degree_panel,
    engine,
    numbers,
    outcome,
    plain,
    run_table,
)
from streamlab.lab.figures.figure import Figure, Outcome, Runs, Tree
from streamlab.lab.figures.measurements import (
    Series,
    Value,
    all_of,
    comparisons_per_s,
    per_row,
    quotient,
    series,
)
from streamlab.lab.figures.offered_stages import LAG_NOTE
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import latencies, outputs, trials, two_degrees
from streamlab.lab.figures.stretch.paper_setup import (
    ADHOC,
    DOWNSTREAM,
    INSTANCES,
    LATENCY,
    ONE_THREAD,
    PAPER,
    SN,
    VSN,
    notes,
    paper_engine,
    static_stages,
)
from streamlab.lab.figures.stretch.steps import SIDE_EPS, coherent_eps, join_workload, window_ms
from streamlab.reports.figures.paper import Mark
from streamlab.results.query import by_cell
from streamlab.results.schema import TrialRow
from streamlab.results.stats.estimates import Level, Monotone, Product, highest, lowest, ratio
from streamlab.results.store import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A line of the figure: a variant in one of its forms.

    Attributes:
        form: the form; also the label of its cells.
        system: the paper's system; empty for this lab's own form.
    """

    variant: str
    form: str
    colour: int
    system: str = ""
    workers: tuple[int, ...] | None = None

    def table(self, options: Options) -> dict[str, JsonValue]:
        """Return the system's `[[engine]]` table of the matrix."""
        fields: dict[str, JsonValue] = {"label": self.form}
        if self.workers is not None:
            fields["workers"] = list(self.workers)
        if self.system:
            return paper_engine(self.system, options, **fields)
        downstream = DOWNSTREAM if self.variant in (VSN, SN) else {}
        return engine(
            self.variant, options, options={"join_form": self.form, **downstream}, **fields
        )


OPERATOR10, TUPLES = "operator10", "tuples"
STRETCH, SCALEJOIN, ONE = "VSN (operator 10)", "ad-hoc (ScaleJoin)", "1T"
SYSTEMS: Mapping[str, _Line] = {
    STRETCH: _Line(variant=VSN, form=OPERATOR10, colour=0, system="operator 10"),
    SCALEJOIN: _Line(variant=ADHOC, form=TUPLES, colour=2, system="ScaleJoin"),
    ONE: _Line(variant=ONE_THREAD, form=TUPLES, colour=3, system="one thread", workers=(1,)),
    "operator 10, SN": _Line(variant=SN, form=OPERATOR10, colour=1),
    "lab: fused VSN": _Line(variant=VSN, form="fused", colour=4),
    "lab: ad-hoc by tiles": _Line(variant=ADHOC, form="tiles", colour=5),
}


def _scale(options: Options) -> float:
    return options.scaled(0.2, 0.1)


def _tree(options: Options) -> Tree:
    ws_ms = window_ms(_scale(options))
    windows = 4  # the first fills the join's window; the other three meet a full window
    return {
        "run": run_table(options, timeout_s=900),
        "workload": [
            join_workload(max(1000, windows * 2 * SIDE_EPS * ws_ms // 1000), SIDE_EPS, ws_ms)
        ],
        "engine": [system.table(options) for system in SYSTEMS.values()],
    }


def _rows(run: Run, *names: str) -> list[TrialRow]:
    """Return the verified trials of these systems."""
    systems = (SYSTEMS[name] for name in names)
    return [row for s in systems for row in trials(run, f"/{s.variant}/", f"/{s.form}")]


def _outcome(options: Options, runs: Runs) -> Outcome:
    ws_ms = window_ms(_scale(options))

    def by_system(run: Run, value: Value) -> dict[str, Series]:
        return {
            name: series(run, "scale_join", system.variant, value, options=f"/{system.form}")
            for name, system in SYSTEMS.items()
        }

    comparison_rates = by_system(runs[0], comparisons_per_s)
    rates = by_system(runs[0], coherent_eps(ws_ms))
    latency = by_system(runs[1], LATENCY)
    vsn, adhoc = comparison_rates[STRETCH], comparison_rates[SCALEJOIN]
    counted = vsn.workers(options.within)
    least, most = vsn.ends(options.within)
    growth = quotient(vsn.at(most), vsn.at(least))
    linear = None if growth is None else ratio(growth, Product((), most / least))
    ratios = [quotient(vsn.at(n), adhoc.at(n)) for n in counted if n in adhoc.by_workers]
    overheads = [
        Monotone(lambda values: values[0] - values[1], (a,), (b,))
        for n in options.within
        if (a := latency[STRETCH].at(n)) is not None and (b := latency[SCALEJOIN].at(n)) is not None
    ]
    one_instance = quotient(vsn.at(1), comparison_rates[ONE].at(1))
    stretch, scale_join, one_thread = (
        outputs(_rows(runs[0], name)) for name in (STRETCH, SCALEJOIN, ONE)
    )
    load_needs = latencies(_rows(runs[1], STRETCH, SCALEJOIN))
    degrees = two_degrees(options, vsn)
    colours = [system.colour for system in SYSTEMS.values()]
    panel = partial(degree_panel, options, x_label=INSTANCES, colours=colours)
    growth_marks = _linear_marks(vsn, options)
    return outcome(
        [
            PAPER.pose("8", "linear", linear, degrees, stretch, least=least, most=most),
            PAPER.pose("8", "ad-hoc", all_of(ratios, lowest), stretch, scale_join),
            PAPER.pose("8", "one thread", one_instance, stretch, one_thread),
            PAPER.pose("8", "latency", all_of(overheads, highest), *load_needs),
            PAPER.pose("8", "per output", _comparisons_per_output(runs), stretch),
        ],
        notes(
            options,
            _scale(options),
            runs,
            f"Window {ws_ms / 1000:g} s at 2 x {SIDE_EPS} tuples/s of event time. The input rate is "
            "the one at which event time would run as fast as the clock: sqrt(2 comparisons/s / "
            "WS).",
            "STRETCH, ScaleJoin and 1T handle a tuple at a time, as in the paper; the lab's own "
            "forms compare columns, many pairs at once. No claim judges them, or operator 10 on "
            "shared-nothing instances (algorithm 1), which the paper does not show here.",
            "The paper's text has no absolute rates of this figure to overlay.",
            LAG_NOTE,
        ),
        {
            n: numbers(
                comparisons_per_s=comparison_rates[n], input_eps=rates[n], latency_ms=latency[n]
            )
            for n in SYSTEMS
        },
        "STRETCH, figure 8: ScaleJoin",
        [
            [
                panel("Input rate", "tuples/s", rates),
                panel(
                    "Throughput",
                    "comparisons/s",
                    comparison_rates,
                    marks=growth_marks,
                    words=["published: VSN = ad-hoc", "1T = VSN at one instance"],
                    log_y=True,
                    write=None if growth_marks else plain,
                ),
                panel("Latency at 70 %", "latency p50, ms", latency, log_y=True, write=plain),
            ]
        ],
        width_in=2.7,
    )


def _linear_marks(vsn: Series, options: Options) -> tuple[Mark, ...]:
    """Return marks of linear growth from the first measured number of instances."""
    counts = vsn.workers(options.within)
    first = vsn.at(counts[0]) if counts else None
    if first is None:
        return ()
    return tuple(
        Mark(name="linear from the first, as in the paper", low=rate, high=rate, x=float(n))
        for n in counts[1:]
        for rate in (first.value * n / counts[0],)
    )


def _comparisons_per_output(runs: Runs) -> Monotone | None:
    """Return the comparisons per output, as the mean over operator 10's cells."""

    def per_output(row: TrialRow) -> float | None:
        comparisons, outputs = row.comparisons, row.outputs
        return comparisons / outputs if comparisons and outputs else None

    cells = [cell for cell in by_cell(runs[0].rows) if f"/{OPERATOR10}" in cell.cell]
    spreads = [spread for cell in cells if (spread := per_row(cell, per_output)) is not None]
    return Monotone(fmean, tuple(Level(spread.values) for spread in spreads)) if spreads else None


FIGURE = Figure(
    id="stretch:8",
    title="ScaleJoin: VSN, ad-hoc, one thread",
    shows="input rate, comparisons per second and latency against instances",
    needs=("scale_join", VSN, SN, ADHOC, ONE_THREAD),
    stages=static_stages(_tree),
    scale=_scale,
    outcome=_outcome,
)
