"""Reproduces figures 4 and 6 of DGS: Flink and Timely by themselves, and Flink synchronized by hand."""

from collections.abc import Mapping

from streamlab.lab.figures.experiment import degree_panel, numbers, outcome, stage
from streamlab.lab.figures.figure import Figure, FigureStage, Outcome, Plan, Runs, Tree
from streamlab.lab.figures.flumina.forms import (
    BLOCKS_NOTE,
    EVEN,
    NAMES,
    VARIANTS,
    degrees,
    missing_forms,
    rate,
    rows_of,
    tree,
)
from streamlab.lab.figures.flumina.paper_setup import (
    FRAUD,
    JOIN,
    NODES,
    PAPER,
    PROGRAMS,
    Program,
    facts,
    growth,
    growth_words,
    notes,
    scaling,
    workers_text,
)
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.measurements import Series, column, quotient, series
from streamlab.lab.figures.offered_stages import LAG_NOTE, LATENCY_SHARE, latency_plan
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import (
    latencies,
    outputs,
    sweep_points,
    trials,
    two_degrees,
)
from streamlab.reports.figures.paper import Mark, Panel
from streamlab.results.query import CellSummary

_PROGRAMS = (JOIN, FRAUD)
_FORMS = ("F", "FM")
_BY_ITSELF = ("F", "TD", "TDM")
"""The forms of figure 4, explained in `forms`; the paper shows Timely's manual form `TDM` there, too."""


def _tree_4(options: Options) -> Tree:
    return tree(options, PROGRAMS, _BY_ITSELF, (EVEN,))


def _claims_4(
    options: Options, runs: Runs, program: Program, form: str, rates: Series
) -> list[MeasuredClaim]:
    output_need = outputs(rows_of(runs, program, form, options))
    panel, scales = program.panel, scaling(program, form)
    if (program, form) == (FRAUD, "F"):
        fewest, most = rates.ends(options.within)
        flat = PAPER.pose(
            "4",
            "flat",
            quotient(rates.at(most), rates.at(fewest)),
            two_degrees(options, rates),
            output_need,
            panel=panel,
            workers=workers_text(fewest, most),
            fewest=fewest,
        )
        return [flat]
    claims = growth(options, scales, rates, output_need) if scales.low > 1 else []
    if program is JOIN and form != "TDM":
        limit = PAPER.fact("4", quantity="nodes to which it scales").high
        saturated_workers = [n for n in options.within if n >= limit]
        count = len(rates.workers(saturated_workers))
        claims.append(
            PAPER.pose(
                "4",
                "no growth beyond",
                rates.growth(saturated_workers),
                sweep_points(f"numbers of workers from {limit:g} on", count),
                output_need,
                panel=panel,
                series=form,
                nodes=limit,
            )
        )
    return claims


def _outcome_4(options: Options, runs: Runs) -> Outcome:
    by_program = {
        program: {
            form: rate(runs, program, form)
            for form in _BY_ITSELF
            if facts().of(figure="T1", panel=program.panel, series=form, quantity="scaling")
        }
        for program in PROGRAMS
    }
    return outcome(
        [
            claim
            for program, by_form in by_program.items()
            for form, rates in by_form.items()
            for claim in _claims_4(options, runs, program, form, rates)
        ],
        notes(
            options,
            runs,
            degrees(options),
            *missing_forms(runs, _BY_ITSELF),
            "Flink 2.3 in one Java process here, events one by one.",
            BLOCKS_NOTE,
        ),
        {
            f"{p.panel}, {NAMES[form]}": numbers(throughput_eps=rates)
            for p, by_form in by_program.items()
            for form, rates in by_form.items()
        },
        "DGS, figure 4: what scales by itself",
        [[_panel_4(options, p, by_form) for p, by_form in by_program.items()]],
    )


def _panel_4(options: Options, program: Program, by_form: Mapping[str, Series]) -> Panel:
    rates = by_form["F"]
    _, most = rates.ends(options.within)
    single_rate, marks = rates.at(1), []
    if single_rate is not None and len(rates.workers(options.within)) > 1:
        target_eps = single_rate.value * max(1.0, scaling(program, "F").low / NODES * most)
        marks = [
            Mark(
                name="at the published share of linear",
                low=target_eps,
                high=target_eps,
                x=float(most),
            )
        ]
    return degree_panel(
        options,
        program.panel,
        "events/s",
        {NAMES[form]: series for form, series in by_form.items()},
        colours=(1, 2, 3),
        marks=marks,
        words=[
            f"{form}: {words}"
            for form, series in by_form.items()
            for words in growth_words(options, {"here": series}, scaling(program, form))
        ],
        log_y=True,
        ticks=degrees(options),
    )


def _tree_6(options: Options) -> Tree:
    return tree(options, _PROGRAMS, _FORMS, (EVEN,))


def _latency_stage(options: Options, runs: Runs) -> Plan:
    keys = {(p.workload, EVEN, *VARIANTS[form].split("/")) for p in _PROGRAMS for form in _FORMS}

    def in_figure(cell: CellSummary) -> bool:
        return (cell.workload, cell.label, cell.engine, cell.variant) in keys

    return latency_plan(options, _tree_6(options), runs, in_figure)


def _claims_6(
    options: Options,
    runs: Runs,
    program: Program,
    rates: Mapping[str, Series],
    latency: Mapping[str, Series],
) -> list[MeasuredClaim]:
    within, panel = options.within, program.panel
    # Automatic Flink uses one worker per page, or one task for all rules.
    pages = PAPER.fact("4", quantity="pages that all views are of")
    tasks = int(pages.low) if program is JOIN else 1
    output_need = outputs([row for form in _FORMS for row in rows_of(runs, program, form, options)])
    offered_trials = trials(runs[1], f"{program.workload}@{EVEN}/", "/flink/", workers=within)
    busy_need = sweep_points(
        f"workers within the cores, of which Flink by itself keeps {tasks} busy",
        max(within, default=0),
        tasks + 1,
    )
    rate_ratio = quotient(rates["FM"].highest(within), rates["F"].highest(within))
    latency_ratio = quotient(latency["FM"].lowest(within), latency["F"].lowest(within))
    needs = (busy_need, output_need, *latencies(offered_trials))
    return [
        *growth(options, scaling(program, "FM"), rates["FM"], output_need),
        PAPER.pose("6", "throughput", rate_ratio, busy_need, output_need, panel=panel),
        PAPER.pose("6", "latency", latency_ratio, *needs, panel=panel, share=LATENCY_SHARE),
    ]


def _outcome_6(options: Options, runs: Runs) -> Outcome:
    latency_ms = column("latency_p50_ns", 1e-6)
    rates = {p: {form: rate(runs, p, form) for form in _FORMS} for p in _PROGRAMS}
    latency = {
        p: {
            form: series(runs[1], f"{p.workload}@{EVEN}", VARIANTS[form], latency_ms)
            for form in _FORMS
        }
        for p in _PROGRAMS
    }
    return outcome(
        [claim for p in _PROGRAMS for claim in _claims_6(options, runs, p, rates[p], latency[p])],
        notes(
            options,
            runs,
            degrees(options),
            *missing_forms(runs, _FORMS),
            "Manual: a service next to Flink, by RMI over the loopback interface; the paper's nodes "
            "had a network between them, and its input rate rose until Flink fell behind.",
            f"Latency is the median at {LATENCY_SHARE:g} of each cell's own rate.",
            LAG_NOTE,
        ),
        {
            f"{p.panel}, {NAMES[form]}": numbers(
                throughput_eps=rates[p][form], latency_ms=latency[p][form]
            )
            for p in _PROGRAMS
            for form in _FORMS
        },
        "DGS, figure 6: synchronization by hand in Flink",
        [
            [_panel_6(options, p, rates[p], is_rate=True) for p in _PROGRAMS],
            [_panel_6(options, p, latency[p], is_rate=False) for p in _PROGRAMS],
        ],
    )


def _panel_6(
    options: Options, program: Program, by_form: Mapping[str, Series], *, is_rate: bool
) -> Panel:
    words = growth_words(options, {"manual": by_form["FM"]}, scaling(program, "FM"))
    return degree_panel(
        options,
        program.panel if is_rate else "",
        "events/s" if is_rate else "latency p50, ms",
        {NAMES[form]: by_form[form] for form in _FORMS},
        colours=(1, 2),
        words=words if is_rate else (),
        log_y=not is_rate,
        ticks=degrees(options),
    )


FIGURES = (
    Figure(
        id="flumina:4",
        title="how far Flink and Timely scale by themselves",
        shows="throughput of the three programs on Flink and Timely against workers",
        needs=(
            *(program.workload for program in PROGRAMS),
            *(VARIANTS[form] for form in _BY_ITSELF),
        ),
        stages=(stage("rates", "Flink and Timely at full speed", _tree_4),),
        outcome=_outcome_4,
    ),
    Figure(
        id="flumina:6",
        title="synchronization by hand in Flink, against Flink by itself",
        shows="throughput and latency of page-view join and fraud detection against workers",
        needs=(*(program.workload for program in _PROGRAMS), *(VARIANTS[form] for form in _FORMS)),
        stages=(
            stage("rates", "both forms at full speed", _tree_6),
            FigureStage(
                name="latency",
                about=f"at {LATENCY_SHARE:g} of each cell's own rate",
                plan=_latency_stage,
            ),
        ),
        outcome=_outcome_6,
    ),
)
