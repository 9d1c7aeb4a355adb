"""Reproduces table IV and figure 9 of STRETCH: instances after a reconfiguration, and its duration."""

from collections.abc import Sequence

from streamlab.lab.figures.experiment import outcome, plain
from streamlab.lab.figures.figure import Outcome, Runs
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import cores, sweep_points
from streamlab.lab.figures.stretch.paper_setup import PAPER, facts
from streamlab.lab.figures.stretch.steps import (
    DIRECTIONS,
    PROVISION,
    Step,
    by_start,
    expected_after,
    rate_steps,
    start_points,
    step_figure,
    step_notes,
    step_reconfigurations,
    steps,
)
from streamlab.lab.figures.timeline import mean
from streamlab.reports.figures.paper import Line, Mark, Panel
from streamlab.results.stats.estimates import Level, Middle, cell_median, highest

_LARGE = 52
"""Number of instances after the only reconfiguration whose duration the paper's text states."""


def _outcome_t4(options: Options, runs: Runs) -> Outcome:
    trials = [step for step in steps(options, runs) if step.elastic]
    counts_after = {direction: _counts_after(trials, direction) for direction in DIRECTIONS}
    panels = [
        Panel(
            title=direction,
            y_label="instances afterwards",
            x_label="instances at the start",
            lines=[Line(name="measured", points=start_points(values, options), style="marks")],
            marks=[
                Mark(name="table IV", x=float(fact.x), low=fact.low, high=fact.high)
                for fact in facts().of(figure="T4", series=direction)
            ],
            write=plain,
            whole=True,
            empty="no reconfiguration was measured",
        )
        for direction, values in counts_after.items()
    ]
    return outcome(
        [claim for d in DIRECTIONS for claim in _claims_t4(options, trials, d, counts_after[d])],
        step_notes(options, runs),
        {
            d: {str(n): values for n, values in by_number.items()}
            for d, by_number in counts_after.items()
        },
        "STRETCH, table IV: instances before and after",
        [panels],
    )


def _claims_t4(
    options: Options, trials: Sequence[Step], direction: str, counts_after: dict[int, list[int]]
) -> list[MeasuredClaim]:
    claims: list[MeasuredClaim] = []
    published = {int(fact.x): fact for fact in facts().of(figure="T4", series=direction)}
    sign, change = (1, "more instances") if direction == PROVISION else (-1, "fewer instances")
    for start, values in counts_after.items():
        expected, fact = expected_after(direction, start), published.get(start)
        after, gain = Middle(tuple(values)), Middle(tuple(sign * (v - start) for v in values))
        same_start = [s for s in trials if (s.direction, s.start) == (direction, start)]
        step_need = rate_steps(same_start)
        words = {"direction": direction, "start": start, "change": change, "expected": expected}
        claims += [
            PAPER.pose(
                "T4",
                "after",
                after,
                cores(options, max(start, expected)),
                step_need,
                **words,
                published=f"{fact.low:g}" if fact else f"{expected} by the paper's rule",
                source=fact.source if fact else "section 8.4",
            ),
            PAPER.pose("T4", "direction", gain, cores(options, start), step_need, **words),
        ]
    missing_starts = [n for n in published if n not in counts_after]
    if missing_starts:
        claims.append(
            PAPER.pose(
                "T4",
                "missing",
                None,
                cores(options, min(missing_starts)),
                sweep_points("trials with such starts", 0, 1),
                direction=direction,
                starts=", ".join(map(str, missing_starts)),
                published=", ".join(f"{published[n].low:g}" for n in missing_starts),
            )
        )
    return claims


def _counts_after(trials: Sequence[Step], direction: str) -> dict[int, list[int]]:
    """Return the instances after the step, by instances at the start."""
    return by_start(
        (step.start, step.start if step.after is None else step.after)
        for step in trials
        if step.direction == direction
    )


def _outcome_9(options: Options, runs: Runs) -> Outcome:
    trials = [step for step in steps(options, runs) if step.elastic]
    limit = PAPER.fact("9", series="all", quantity="duration")
    spread = PAPER.fact("9", quantity="coefficient of variation")
    at_30 = PAPER.fact("9", series=PROVISION)
    durations = {
        direction: by_start((s.start, s.duration_ms) for s in trials if s.direction == direction)
        for direction in DIRECTIONS
    }
    covs = by_start((step.start, _cov_percent(step)) for step in trials if step.start > 1)
    medians = [
        cell_median(values)
        for by_number in durations.values()
        for n, values in by_number.items()
        if n <= options.cores
    ]
    # If every core has an instance, the generator takes time from one of them.
    levels = [Level(tuple(v)) for n, v in covs.items() if 1 < n < options.cores]
    at_start = durations[PROVISION].get(int(at_30.x))
    starts = sorted({step.start for step in trials}) or [1, 2]
    claims = [
        PAPER.pose(
            "9",
            "longest",
            highest(medians) if medians else None,
            step_reconfigurations([step for step in trials if step.start <= options.cores]),
            text="longest reconfiguration",
        ),
        PAPER.pose(
            "9",
            "imbalance",
            highest(levels) if levels else None,
            step_reconfigurations([step for step in trials if 1 < step.start < options.cores]),
            sweep_points(
                "numbers of instances above one that leave the generator a core", len(levels), 1
            ),
        ),
        PAPER.pose(
            "9",
            "from 30",
            cell_median(at_start) if at_start else None,
            cores(options, _LARGE),
        ),
    ]
    times = Panel(
        title="Reconfiguration time",
        y_label="ms",
        x_label="instances at the start",
        lines=[
            Line(name=d, points=start_points(values, options), colour=colour, style="marks")
            for colour, (d, values) in enumerate(durations.items())
        ],
        marks=[Mark(name="always lower than 40 ms", low=0, high=limit.high)],
        words=[f"{at_30.text} at 30 instances in the paper"],
        ticks=starts,
        log_y=True,
        write=plain,
    )
    imbalance = Panel(
        title="Imbalance before it",
        y_label="coefficient of variation, %",
        x_label="instances at the start",
        lines=[Line(name="load", points=start_points(covs, options), colour=2, style="marks")],
        marks=[Mark(name="at most 2 %", low=0, high=spread.high)],
        ticks=starts,
        write=plain,
    )
    return outcome(
        claims,
        step_notes(
            options,
            runs,
            "Imbalance: of the instances' busy time, in the last fifth of the time before the step.",
        ),
        {
            "duration_ms": {
                d: {str(n): v for n, v in by_number.items()} for d, by_number in durations.items()
            },
            "cov_percent": {str(n): v for n, v in covs.items()},
        },
        "STRETCH, figure 9: reconfiguration times and imbalance",
        [[times, imbalance]],
    )


def _cov_percent(step: Step) -> float | None:
    """Return the imbalance before the step in percent."""
    cov = mean(step.timeline.load_cov, step.timeline.between(step.at_s * 0.8, step.at_s))
    return None if cov is None else cov * 100


TABLE_4 = step_figure(
    "T4",
    "instances before and after one reconfiguration",
    "instances after provisioning and decommissioning, for each number at the start",
    _outcome_t4,
)
FIGURE_9 = step_figure(
    "9",
    "reconfiguration times and imbalance",
    "duration of reconfigurations, and coefficient of variation of the instances' load",
    _outcome_9,
)
