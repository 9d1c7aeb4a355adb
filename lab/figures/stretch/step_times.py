"""Reproduces figure 9 of STRETCH: duration of reconfigurations, and load imbalance before them."""

from collections.abc import Sequence

from streamlab.lab.figures.experiment import asked, plain
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.judge import judge
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import cores, sweep_points
from streamlab.lab.figures.stretch.one_step import (
    BOTH,
    COLOURS,
    NEEDS,
    by_start,
    elastic,
    step_notes,
    step_reconfigurations,
)
from streamlab.lab.figures.stretch.shared import facts, longest_reconfiguration
from streamlab.lab.figures.stretch.steps import PROVISION, STAGES, Step, scale
from streamlab.lab.figures.stretch.systems import OPERATOR_10
from streamlab.lab.figures.timeline import mean
from streamlab.reports.figures.paper import Layout, Line, Mark, Panel, draw
from streamlab.results.stats.estimates import Level, cell_median, highest

_LARGE = 52
"""Instances after the only reconfiguration whose duration the text states."""


def _outcome(options: Options, runs: Runs) -> Outcome:
    trials = elastic(options, runs)
    limit = facts().one(figure="9", series="all", quantity="duration")
    spread = facts().one(figure="9", quantity="coefficient of variation")
    at_30 = facts().one(figure="9", series=PROVISION)
    durations = {direction: _durations(trials, direction) for direction in BOTH}
    covs = _covs(trials)
    judged = [
        cell_median(v)
        for by_number in durations.values()
        for n, v in by_number.items()
        if n <= options.cores
    ]
    # With an instance on every core, the generator takes time from one of the instances.
    several = [Level(tuple(v)) for n, v in covs.items() if 1 < n < options.cores]
    at_start = durations[PROVISION].get(int(at_30.x))
    posed = (
        longest_reconfiguration(
            "longest reconfiguration",
            highest(judged) if judged else None,
            step_reconfigurations([step for step in trials if step.start <= options.cores]),
        ),
        asked(
            "imbalance before a reconfiguration, at its most",
            spread,
        )
        .of(OPERATOR_10)
        .given(
            step_reconfigurations([step for step in trials if 1 < step.start < options.cores]),
            sweep_points(
                "numbers of instances above one that leave the generator a core", len(several), 1
            ),
        )
        .at_most(highest(several) if several else None, spread.high, "%"),
        asked(
            "provisioning from 30 instances, at most",
            at_30,
        )
        .of(OPERATOR_10)
        .given(cores(options, _LARGE))
        .at_most(cell_median(at_start) if at_start else None, at_30.high * 1.5, "ms"),
    )
    figure_notes = step_notes(
        options,
        runs,
        "Imbalance: of the instances' busy time, in the last fifth of the time before the step.",
    )
    starts = sorted({step.start for step in trials}) or [1, 2]
    return Outcome(
        claims=judge(posed),
        notes=figure_notes,
        numbers={
            "duration_ms": {
                d: {str(n): v for n, v in by_number.items()} for d, by_number in durations.items()
            },
            "cov_percent": {str(n): v for n, v in covs.items()},
        },
        draw=lambda: draw(
            Layout(
                title="STRETCH, figure 9: reconfiguration times and imbalance",
                rows=[
                    [
                        Panel(
                            title="Reconfiguration time",
                            y_label="ms",
                            x_label="instances at the start",
                            lines=[
                                Line(
                                    name=d,
                                    points=by_start(durations[d], options),
                                    colour=COLOURS[d],
                                    style="marks",
                                )
                                for d in BOTH
                            ],
                            marks=[Mark(name="always lower than 40 ms", low=0, high=limit.high)],
                            words=[f"{at_30.text} at 30 instances in the paper"],
                            ticks=starts,
                            log_y=True,
                            write=plain,
                        ),
                        Panel(
                            title="Imbalance before it",
                            y_label="coefficient of variation, %",
                            x_label="instances at the start",
                            lines=[
                                Line(
                                    name="load",
                                    points=by_start(covs, options),
                                    colour=2,
                                    style="marks",
                                )
                            ],
                            marks=[Mark(name="at most 2 %", low=0, high=spread.high)],
                            ticks=starts,
                            write=plain,
                        ),
                    ]
                ],
                notes=figure_notes,
            )
        ),
    )


def _durations(trials: Sequence[Step], direction: str) -> dict[int, list[float]]:
    """Return the reconfiguration times of one direction in ms, by instances at the start."""
    by_number: dict[int, list[float]] = {}
    for step in trials:
        if step.direction == direction and step.duration_ms is not None:
            by_number.setdefault(step.start, []).append(step.duration_ms)
    return dict(sorted(by_number.items()))


def _covs(trials: Sequence[Step]) -> dict[int, list[float]]:
    """Return the imbalance before the step in percent, by two or more instances at the start."""
    by_number: dict[int, list[float]] = {}
    for step in trials:
        where = step.timeline.between(step.at_s * 0.8, step.at_s)
        cov = mean(step.timeline.load_cov, where)
        if cov is not None and step.start > 1:
            by_number.setdefault(step.start, []).append(cov * 100)
    return dict(sorted(by_number.items()))


FIGURE = Figure(
    id="stretch:9",
    title="reconfiguration times and imbalance",
    shows="duration of reconfigurations, and coefficient of variation of the instances' load",
    needs=NEEDS,
    stages=STAGES,
    scale=scale,
    outcome=_outcome,
)
