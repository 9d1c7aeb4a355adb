"""Figure 6 of Data-Trace Types: how the prediction of power usage scales."""

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
"""Linear growth: between this share of the growth in workers and its reciprocal."""


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
    found = {form: rate(runs, WORKLOAD, form) for form in FORMS}
    within = found[TYPED].workers(n for n in options.instances if n <= options.cores)
    few = within[0] if within else 1
    many = within[-1] if within else 1
    grown = quotient(found[TYPED].at(many), found[TYPED].at(few))
    counted = "/".join(str(lines_of_code(WORKLOAD, form)) for form in FORMS)
    mentioned = notes(
        options, runs, options.instances, f"Lines of code, typed/handcrafted: {counted}."
    )
    claim = (
        PublishedClaim(
            text=f"typed throughput with {many} workers by that with {few}",
            published="scales up linearly",
            source="section 6, figure 6",
        )
        .of(systems.TYPED)
        .given(
            two_degrees(options, found[TYPED]),
            outputs(trials(runs[0], f"{WORKLOAD}@{TYPED}/", workers=options.within)),
        )
    )
    return Outcome(
        claims=judge([claim.shape(grown, _LINEAR * many / few, many / few / _LINEAR, "x")]),
        notes=mentioned,
        numbers={
            NAMES[form]: dict(
                numbers(
                    throughput_eps=found[form],
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
                                    points=points(found[form], options),
                                    colour=place,
                                )
                                for place, form in enumerate(FORMS)
                            ],
                            ticks=options.instances,
                        )
                    ]
                ],
                notes=mentioned,
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
