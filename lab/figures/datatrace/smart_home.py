"""Reproduces figure 6 of Data-Trace Types: scaling of the prediction of power usage."""

from streamlab.lab.figures.datatrace import systems
from streamlab.lab.figures.datatrace.shared import (
    FORMS,
    NAMES,
    NEEDS,
    TYPED,
    cpu,
    engine_table,
    lines_of_code,
    notes,
    rate,
    workload_tables,
)
from streamlab.lab.figures.experiment import numbers, points, run_table
from streamlab.lab.figures.figure import Figure, FigureStage, Outcome, Plan, Runs
from streamlab.lab.figures.judge import PublishedClaim, judge
from streamlab.lab.figures.measurements import quotient
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import outputs, trials, two_degrees
from streamlab.reports.figures.paper import Layout, Line, Panel, draw

NUMBER = "6"
WORKLOAD = "smart_home_prediction"
_EVENTS, _QUICK_EVENTS = 8_000_000, 1_000_000
_LINEAR = 0.8
"""Growth counts as linear between this share of the growth in workers and its reciprocal."""


def _events(options: Options) -> int:
    if options.scale is not None:
        return max(1000, round(_EVENTS * options.scale))
    return _QUICK_EVENTS if options.quick else _EVENTS


def _plan(options: Options, runs: Runs) -> Plan:
    return Plan(
        tree={
            "run": run_table(options, timeout_s=300),
            "workload": workload_tables(WORKLOAD, _events(options), options),
            "engine": [engine_table(options)],
        }
    )


def _outcome(options: Options, runs: Runs) -> Outcome:
    rates = {form: rate(runs, WORKLOAD, form) for form in FORMS}
    within = rates[TYPED].workers(n for n in options.instances if n <= options.cores)
    fewest = within[0] if within else 1
    most = within[-1] if within else 1
    growth = quotient(rates[TYPED].at(most), rates[TYPED].at(fewest))
    line_counts = "/".join(str(lines_of_code(WORKLOAD, form)) for form in FORMS)
    figure_notes = notes(
        options, runs, options.instances, f"Lines of code, typed/handcrafted: {line_counts}."
    )
    claim = (
        PublishedClaim(
            text=f"typed throughput with {most} workers by that with {fewest}",
            published="scales up linearly",
            source="section 6, figure 6",
        )
        .of(systems.TYPED)
        .given(
            two_degrees(options, rates[TYPED]),
            outputs(trials(runs[0], f"{WORKLOAD}@{TYPED}/", workers=options.within)),
        )
    )
    return Outcome(
        claims=judge([claim.shape(growth, _LINEAR * most / fewest, most / fewest / _LINEAR, "x")]),
        notes=figure_notes,
        numbers={
            NAMES[form]: dict(
                numbers(
                    throughput_eps=rates[form],
                    cpu_s_per_million=cpu(runs, WORKLOAD, form),
                )
            )
            for form in FORMS
        },
        draw=lambda: draw(
            Layout(
                title="Data-Trace Types, figure 6: prediction of power usage",
                rows=[
                    [
                        Panel(
                            title="smart homes",
                            y_label="readings/s",
                            x_label="workers",
                            lines=[
                                Line(
                                    name=NAMES[form],
                                    points=points(rates[form], options),
                                    colour=place,
                                )
                                for place, form in enumerate(FORMS)
                            ],
                            ticks=options.instances,
                        )
                    ]
                ],
                notes=figure_notes,
            )
        ),
    )


SMART_HOME = Figure(
    id=f"datatrace:{NUMBER}",
    title="Prediction of power usage in smart homes, by parallelism",
    shows="throughput by workers, typed and by hand",
    needs=(WORKLOAD, *NEEDS),
    stages=(
        FigureStage(
            name="prediction", about="both forms of the pipeline at full speed", plan=_plan
        ),
    ),
    outcome=_outcome,
)
