"""Selects and draws trials over time for figures 10 to 13 and 16 to 19: panels below each other."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from math import isfinite

import numpy as np

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import plain
from streamlab.lab.figures.figure import Runs
from streamlab.lab.figures.stretch.phases import Phase
from streamlab.lab.figures.timeline import (
    ElasticTimeline,
    Values,
    bin_means,
    mean,
    means_by_second,
    read_timeline,
)
from streamlab.reports.figures.paper import Line, Mark, Panel, Point, Shade
from streamlab.results.query import by_cell, group_by
from streamlab.results.schema import VERIFIED
from streamlab.results.stats.estimates import Estimate

NO_SERIES = "no verified trial has a series"


def timelines(runs: Runs, labels: Sequence[str]) -> dict[str, list[ElasticTimeline]]:
    """Return the verified trials that have a series, by label; figures draw the first trial of a label."""
    read = [
        (cell.label, timeline)
        for cell in by_cell(runs[-1].rows)
        if cell.status in VERIFIED and cell.label in labels
        for row in cell.rows
        if (timeline := read_timeline(runs[-1], row)) is not None
    ]
    groups = group_by(read, lambda pair: str(pair[0]))
    return {label: [timeline for _, timeline in pairs] for label, pairs in groups.items()}


def estimate_over(
    trials: Iterable[ElasticTimeline],
    value: Callable[[ElasticTimeline], float | None],
    kind: Callable[[tuple[float, ...]], Estimate],
) -> Estimate | None:
    """Estimate a value over trials; None if no trial has it."""
    values = tuple(x for timeline in trials if (x := value(timeline)) is not None)
    return kind(values) if values else None


def cut_timeline(timeline: ElasticTimeline, begin_s: float, end_s: float) -> ElasticTimeline:
    """Return the rows and changes of a timeline within [begin_s, end_s)."""
    mask = timeline.between(begin_s, end_s)
    arrays = {
        field.name: getattr(timeline, field.name)[mask]
        for field in fields(timeline)
        if field.name != "changes"
    }
    changes = tuple(c for c in timeline.changes if begin_s <= c.at_ns * 1e-9 < end_s)
    return ElasticTimeline(**arrays, changes=changes)


def second_means(timeline: ElasticTimeline) -> Values:
    """Return float64[seconds]: the mean offered rate of each whole second, in events/s."""
    rows = len(timeline.offered_eps) // 10 * 10
    rates = np.nan_to_num(timeline.offered_eps[:rows]).reshape(-1, 10)
    return np.asarray(rates.mean(axis=1), dtype=np.float64)


def line(
    timeline: ElasticTimeline,
    values: Values,
    name: str = "measured",
    colour: int = 0,
    style: str = "plain",
) -> Line:
    """Return values of a timeline as a line without marks; style `steps` is for counts."""
    bins = bin_means(timeline.t_s, values, last=style == "steps")
    return Line(name=name, points=[Point(t, v, v, v) for t, v in bins], colour=colour, style=style)


def panels(
    timeline: ElasticTimeline,
    *,
    title: str,
    per_instance: float | None,
    marks_ms: Sequence[Mark] = (),
    shades: Sequence[Shade] = (),
    phases: Sequence[Phase] = (),
    baseline: Sequence[Line] = (),
) -> list[Panel]:
    """Return panels of rate, instances, throughput with the capacity of the instances, and latency.

    `per_instance` is one instance's highest number of comparisons per second; None draws no band.
    `marks_ms` are published latencies, `phases` the planned rates, and `baseline` the instances that
    the planned rates need. The box plot next to the latency shows the means by second.
    """
    throughput = [line(timeline, timeline.comparisons_per_s)]
    if per_instance is not None:
        throughput.insert(0, _capacity_band(timeline, per_instance))
    rates = [line(timeline, timeline.offered_eps)]
    if phases:
        rates.insert(0, _planned_rates(phases))
    return [
        Panel(title=title, y_label="(a) input rate, tuples/s", lines=rates, shades=shades),
        Panel(
            title="",
            y_label="(b) instances",
            lines=[*baseline, line(timeline, timeline.instances, style="steps")],
            shades=shades,
            write=plain,
            whole=True,
        ),
        Panel(
            title="",
            y_label="(c) comparisons/s",
            lines=throughput,
            shades=shades,
            empty="the engine counted no comparisons",
        ),
        Panel(
            title="",
            y_label="(d) latency p50, ms",
            x_label="seconds",
            lines=[line(timeline, timeline.latency_ms)],
            marks=marks_ms,
            boxed=[ms for ms in means_by_second(timeline.latency_ms).tolist() if isfinite(ms)],
            shades=shades,
            log_y=True,
            write=plain,
        ),
    ]


def side_by_side(columns: Sequence[Sequence[Panel]], empty: str = NO_SERIES) -> list[list[Panel]]:
    """Transpose columns of panels to rows; without columns, return one panel with the text `empty`."""
    if not columns:
        return [[Panel(title="", y_label="", empty=empty)]]
    return [list(row) for row in zip(*columns, strict=True)]


def summary(timeline: ElasticTimeline) -> dict[str, JsonValue]:
    """Return the means of a timeline, and its reconfigurations, as JSON values."""
    return {
        "mean_latency_ms": mean(timeline.latency_ms),
        "mean_offered_eps": mean(timeline.offered_eps),
        "mean_instances": mean(timeline.instances),
        "reconfigurations": [
            {
                "at_s": change.at_ns * 1e-9,
                "duration_ms": change.duration_ns * 1e-6,
                "before": change.before,
                "after": change.after,
            }
            for change in timeline.changes
        ],
    }


def _capacity_band(timeline: ElasticTimeline, per_instance: float) -> Line:
    top = timeline.instances * per_instance
    band = [
        Point(t, v * 0.75, v * 0.7, v * 0.8) for t, v in bin_means(timeline.t_s, top, last=True)
    ]
    return Line(name="70 to 80 % of capacity", points=band, colour=4, style="band", band=True)


def _planned_rates(phases: Sequence[Phase]) -> Line:
    begins = np.cumsum([0.0, *(phase.length_s for phase in phases)]).tolist()
    rates = [phase.rate_eps for phase in phases]
    points = [Point(t, v, v, v) for t, v in zip(begins, [*rates, rates[-1]], strict=True)]
    return Line(name="planned", points=points, colour=3, style="steps")
