"""Reproduces figure 10 of STRETCH: one provisioning and one decommissioning over time."""

from collections.abc import Sequence

import numpy as np

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import outcome, plain
from streamlab.lab.figures.figure import Outcome, Runs
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.measurements import quotient
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import cores, sweep_points
from streamlab.lab.figures.stretch.paper_setup import PAPER
from streamlab.lab.figures.stretch.steps import (
    DIRECTIONS,
    Step,
    rate_steps,
    step_figure,
    step_notes,
    step_reconfigurations,
    steps,
)
from streamlab.lab.figures.stretch.timelines import line, side_by_side
from streamlab.lab.figures.timeline import mean
from streamlab.reports.figures.paper import Line, Mark, Panel, Shade
from streamlab.results.stats.estimates import Product, cell_median


def _outcome(options: Options, runs: Runs) -> Outcome:
    trials = steps(options, runs)
    claims: list[MeasuredClaim] = []
    columns: list[list[Panel]] = []
    for direction in DIRECTIONS:
        pair = _find_pair(trials, direction)
        if pair is None:
            no_pair = sweep_points("verified pairs of trials", 0, 1)
            claims.append(PAPER.pose("10", "missing", None, no_pair, direction=direction))
            continue
        claims += _claims(direction, *pair, options)
        columns.append(_make_column(direction, pair[0][0], pair[1][0]))
    return outcome(
        claims,
        step_notes(
            options,
            runs,
            "Static: ScaleJoin, a tuple at a time, with the instances of the start. The paper "
            "starts at 18 instances.",
        ),
        _list_numbers(trials),
        "STRETCH, figure 10: one provisioning, one decommissioning",
        side_by_side(columns, "no verified pair of trials"),
        height_in=1.15,
        width_in=3.4,
    )


def _list_numbers(trials: Sequence[Step]) -> dict[str, list[dict[str, JsonValue]]]:
    """Return the results of every trial, by direction, kind and start."""
    numbers: dict[str, list[dict[str, JsonValue]]] = {}
    for step in trials:
        kind = "elastic" if step.elastic else "static"
        numbers.setdefault(f"{step.direction}-{kind}-{step.start}", []).append(
            {
                "after": step.after,
                "duration_ms": step.duration_ms,
                "consumed_eps": _mean_after(step, "consumed_eps"),
                "latency_ms": _mean_after(step, "latency_ms"),
            }
        )
    return numbers


def _claims(
    direction: str, elastic: Sequence[Step], static: Sequence[Step], options: Options
) -> list[MeasuredClaim]:
    """Pose the claims on throughput and latency after the step, as elastic divided by static."""
    most = max(max(step.start, step.after or 0) for step in elastic)
    needs = (cores(options, most), rate_steps(elastic), step_reconfigurations(elastic))
    measured = {
        f"{direction} {claim}": quotient(_estimate(elastic, name), _estimate(static, name))
        for claim, name in (("throughput", "consumed_eps"), ("latency", "latency_ms"))
    }
    return PAPER.pose_all("10", measured, *needs)


def _make_column(direction: str, elastic: Step, static: Step) -> list[Panel]:
    """Return one direction's panels from top to bottom: rate, instances, throughput and latency."""
    end_s = float(elastic.timeline.t_s[-1]) if len(elastic.timeline.t_s) else 1.0
    shade = Shade(name="after the step", begin=elastic.at_s, end=end_s)
    before = elastic.at_s * 0.5
    mean_eps = mean(elastic.timeline.offered_eps, elastic.timeline.between(before, elastic.at_s))
    after_step, before_step = (
        PAPER.fact("10", series=direction, quantity=quantity).low
        for quantity in ("rate after", "rate before")
    )
    rate_eps = (mean_eps or 0.0) * after_step / before_step
    marks = [Mark(name="rate after the step", low=rate_eps, high=rate_eps)] if mean_eps else []

    def lines(name: str) -> list[Line]:
        return [
            line(elastic.timeline, getattr(elastic.timeline, name), "elastic", 0),
            line(static.timeline, getattr(static.timeline, name), "static", 2),
        ]

    has_comparisons = bool(np.isfinite(elastic.timeline.comparisons_per_s).any())
    changes = line(elastic.timeline, elastic.timeline.instances, "elastic", 0, "steps")
    return [
        Panel(
            title=f"{direction} from {elastic.start}",
            y_label="input rate, tuples/s",
            lines=lines("offered_eps")[:1],
            marks=marks,
            shades=[shade],
        ),
        Panel(
            title="",
            y_label="instances",
            lines=[changes],
            shades=[shade],
            write=plain,
            whole=True,
        ),
        Panel(
            title="",
            y_label="comparisons/s" if has_comparisons else "tuples processed/s",
            lines=lines("comparisons_per_s" if has_comparisons else "consumed_eps"),
            shades=[shade],
        ),
        Panel(
            title="",
            y_label="latency p50, ms",
            x_label="seconds",
            lines=lines("latency_ms"),
            shades=[shade],
            log_y=True,
            write=plain,
        ),
    ]


def _find_pair(trials: Sequence[Step], direction: str) -> tuple[list[Step], list[Step]] | None:
    """Return the elastic and static trials of a direction with the same start; None without both."""
    static = [s for s in trials if s.direction == direction and not s.elastic]
    elastic = [s for s in trials if s.direction == direction and s.elastic]
    elastic = [s for s in elastic if static and s.start == static[0].start]
    return (elastic, static) if elastic else None


def _estimate(trials: Sequence[Step], name: str) -> Product | None:
    values = tuple(value for step in trials if (value := _mean_after(step, name)) is not None)
    return cell_median(values) if values else None


def _mean_after(step: Step, name: str) -> float | None:
    """Return the mean over the last two thirds of the load's time after the step."""
    end_s = step.at_s * 2
    mask = step.timeline.between(step.at_s + (end_s - step.at_s) / 3, end_s)
    return mean(getattr(step.timeline, name), mask)


FIGURE = step_figure(
    "10",
    "one provisioning and one decommissioning over time",
    "input rate, instances, throughput and latency, elastic against static",
    _outcome,
)
