"""Reproduces figure 8 of STRETCH: ScaleJoin on the general operator, hand-written, and on one thread.

The claims are about the paper's systems, which all handle a tuple at a time: Operator 10 on virtual
shared-nothing instances, ScaleJoin as published, and the same loop on one thread (1T).
Drawn without a claim: Operator 10 on shared-nothing instances (Algorithm 1), which the paper does not
show for this join, and this lab's own forms, which compare columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from streamlab.lab.figures.experiment import asked, engine, numbers, plain, points, run_table
from streamlab.lab.figures.figure import Figure, Outcome, Plan, Runs
from streamlab.lab.figures.judge import PublishedClaim, judge
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
from streamlab.lab.figures.stretch import systems
from streamlab.lab.figures.stretch.shared import DOWNSTREAM, PAPER_CORES, SN, VSN, facts, notes
from streamlab.lab.figures.stretch.static import INSTANCES, LATENCY, stages
from streamlab.lab.figures.stretch.steps import ADHOC, SIDE_EPS, coherent_eps, window_ms
from streamlab.reports.figures.paper import Layout, Line, Mark, Panel, draw
from streamlab.results.query import by_cell
from streamlab.results.schema import TrialRow
from streamlab.results.stats.estimates import Combined, Level, Product, highest, lowest, ratio
from streamlab.results.store import Run

ONE_THREAD = "multicore/1t"


@dataclass(frozen=True, slots=True, kw_only=True)
class _System:
    """A line of the figure: a variant in one of its forms, which is also its cells' label."""

    variant: str
    form: str
    colour: int
    workers: tuple[int, ...] | None = None

    def table(self, options: Options) -> dict[str, Any]:
        """Return the system's `[[engine]]` table of the matrix."""
        downstream = DOWNSTREAM if self.variant in (VSN, SN) else {}
        more: dict[str, Any] = {
            "label": self.form,
            "options": {"join_form": self.form, **downstream},
        }
        if self.workers is not None:
            more["workers"] = list(self.workers)
        return engine(self.variant, options, **more)


OPERATOR10, TUPLES = "operator10", "tuples"
STRETCH, SCALEJOIN, ONE = "VSN (operator 10)", "ad-hoc (ScaleJoin)", "1T"
SYSTEMS: Mapping[str, _System] = {
    STRETCH: _System(variant=VSN, form=OPERATOR10, colour=0),
    SCALEJOIN: _System(variant=ADHOC, form=TUPLES, colour=2),
    ONE: _System(variant=ONE_THREAD, form=TUPLES, colour=3, workers=(1,)),
    "operator 10, SN": _System(variant=SN, form=OPERATOR10, colour=1),
    "lab: fused VSN": _System(variant=VSN, form="fused", colour=4),
    "lab: ad-hoc by tiles": _System(variant=ADHOC, form="tiles", colour=5),
}


def _scale_8(options: Options) -> float:
    return options.scaled(0.2, 0.1)


def _tree_8(options: Options) -> Plan:
    ws_ms = window_ms(_scale_8(options))
    windows = 4  # one to fill, three to compare with
    return Plan(
        tree={
            "run": run_table(options, timeout_s=900),
            "workload": [
                {
                    "name": "scale_join",
                    "events": max(1000, windows * 2 * SIDE_EPS * ws_ms // 1000),
                    "params": {"left_eps": SIDE_EPS, "right_eps": SIDE_EPS},
                    "query": {"ws_ms": ws_ms},
                }
            ],
            "engine": [system.table(options) for system in SYSTEMS.values()],
        }
    )


def _outcome_8(options: Options, runs: Runs) -> Outcome:
    ws_ms = window_ms(_scale_8(options))
    key = "scale_join"

    def by_system(run: Run, value: Value) -> dict[str, Series]:
        return {
            name: series(run, key, system.variant, value, options=f"/{system.form}")
            for name, system in SYSTEMS.items()
        }

    compared = by_system(runs[0], comparisons_per_s)
    rates = by_system(runs[0], coherent_eps(ws_ms))
    latency = by_system(runs[1], LATENCY)
    vsn, adhoc, single_thread = compared[STRETCH], compared[SCALEJOIN], compared[ONE]
    counted = vsn.workers(options.within)
    least, most = (counted[0], counted[-1]) if counted else (1, 1)
    growth = quotient(vsn.at(most), vsn.at(least))
    per_instance = None if growth is None else ratio(growth, Product((), most / least))
    linear, match, single, extra, pairs = (
        facts().one(figure="8", series=s, quantity=q)
        for s, q in (
            ("VSN", "speedup per instance"),
            ("VSN/ad-hoc", "throughput"),
            ("VSN/1T", "throughput"),
            ("VSN-ad-hoc", "latency"),
            ("all", "comparisons per output"),
        )
    )
    common = [n for n in counted if n in adhoc.by_workers]
    ratios = [quotient(vsn.at(n), adhoc.at(n)) for n in common]
    overheads = [
        Combined(lambda values: values[0] - values[1], (a,), (b,))
        for n in options.within
        if (a := latency[STRETCH].at(n)) is not None and (b := latency[SCALEJOIN].at(n)) is not None
    ]
    produced = {
        name: outputs(trials(runs[0], f"/{SYSTEMS[name].variant}/", f"/{SYSTEMS[name].form}"))
        for name in (STRETCH, SCALEJOIN, ONE)
    }
    offered = [
        row
        for name in (STRETCH, SCALEJOIN)
        for row in trials(runs[1], f"/{SYSTEMS[name].variant}/", f"/{SYSTEMS[name].form}")
    ]
    posed = (
        PublishedClaim(
            text=f"VSN's comparisons/s grow linearly from {least} to {most} instances, the cores "
            f"of this machine (the paper: to {PAPER_CORES})",
            published="linear",
            source=linear.source,
        )
        .of(systems.OPERATOR_10)
        .given(two_degrees(options, vsn), produced[STRETCH])
        .shape(per_instance, 0.8, 1.2, "of linear"),
        asked("VSN/ad-hoc ratio of comparisons/s, at its least", match)
        .between(systems.OPERATOR_10, systems.SCALE_JOIN)
        .given(produced[STRETCH], produced[SCALEJOIN])
        .near(all_of(ratios, lowest), match.low, match.high, 0.1, "x"),
        asked("VSN/1T ratio of comparisons/s at one instance", single)
        .between(systems.OPERATOR_10, systems.ONE_THREAD)
        .given(produced[STRETCH], produced[ONE])
        .near(quotient(vsn.at(1), single_thread.at(1)), 1.0, 1.0, 0.15, "x"),
        asked("latency of VSN above that of ad-hoc, at its most", extra)
        .between(systems.OPERATOR_10, systems.SCALE_JOIN)
        .given(*latencies(offered))
        .at_most(all_of(overheads, highest), extra.high, "ms"),
        asked("comparisons per output", pairs)
        .of(systems.OPERATOR_10)
        .given(produced[STRETCH])
        .near(_per_output(runs), pairs.low, pairs.high, 0.15),
    )
    figure_notes = notes(
        options,
        _scale_8(options),
        runs,
        f"Window {ws_ms / 1000:g} s at 2 x {SIDE_EPS} tuples/s of event time. The input rate is "
        "the one at which event time would run as fast as the clock: sqrt(2 comparisons/s / WS).",
        "STRETCH, ScaleJoin and 1T handle a tuple at a time, as in the paper; the lab's own forms "
        "compare columns, many pairs at once. No claim judges them, or operator 10 on "
        "shared-nothing instances (algorithm 1), which the paper does not show here.",
        "The paper's text has no absolute rates of this figure to overlay.",
        LAG_NOTE,
    )
    return Outcome(
        claims=judge(posed),
        notes=figure_notes,
        numbers={
            n: numbers(comparisons_per_s=compared[n], input_eps=rates[n], latency_ms=latency[n])
            for n in SYSTEMS
        },
        draw=lambda: draw(
            Layout(
                title="STRETCH, figure 8: ScaleJoin",
                rows=[
                    [
                        _panel_8(options, "Input rate", "tuples/s", rates),
                        _panel_8(
                            options,
                            "Throughput",
                            "comparisons/s",
                            compared,
                            marks=_linear(vsn, options),
                            words=[
                                "published: VSN = ad-hoc",
                                "1T = VSN at one instance",
                            ],
                            log=True,
                        ),
                        _panel_8(options, "Latency at 70 %", "latency p50, ms", latency, log=True),
                    ]
                ],
                notes=figure_notes,
                width_in=2.7,
            )
        ),
    )


def _panel_8(
    options: Options,
    title: str,
    y_label: str,
    by_name: dict[str, Series],
    *,
    marks: Sequence[Mark] = (),
    words: Sequence[str] = (),
    log: bool = False,
) -> Panel:
    return Panel(
        title=title,
        y_label=y_label,
        x_label=INSTANCES,
        lines=[
            Line(name=name, points=points(values, options), colour=SYSTEMS[name].colour)
            for name, values in by_name.items()
        ],
        marks=marks,
        words=words,
        log_y=log,
        ticks=options.instances,
        write=plain if log and not marks else None,
    )


def _linear(vsn: Series, options: Options) -> tuple[Mark, ...]:
    """Return marks of linear growth from the first measured number of instances."""
    counts = vsn.workers(options.within)
    first = vsn.at(counts[0]) if counts else None
    if first is None:
        return ()
    return tuple(
        Mark(name="linear from the first, as in the paper", low=at, high=at, x=float(n))
        for n in counts[1:]
        for at in (first.value * n / counts[0],)
    )


def _per_output(runs: Runs) -> Combined | None:
    """Return the comparisons per output, as the mean over the cells of operator 10."""

    def per_output(row: TrialRow) -> float | None:
        comparisons, outputs = row.comparisons, row.outputs
        return comparisons / outputs if comparisons and outputs else None

    cells = [cell for cell in by_cell(runs[0].rows) if f"/{OPERATOR10}" in cell.cell]
    spreads = [spread for cell in cells if (spread := per_row(cell, per_output)) is not None]
    return Combined(fmean, tuple(Level(spread.values) for spread in spreads)) if spreads else None


FIGURE = Figure(
    id="stretch:8",
    title="ScaleJoin: VSN, ad-hoc, one thread",
    shows="input rate, comparisons per second and latency against instances",
    needs=("scale_join", VSN, SN, ADHOC, ONE_THREAD),
    stages=stages(_tree_8),
    scale=_scale_8,
    outcome=_outcome_8,
)
