"""Follows trials of figures 4a and 4b over time: the rate per period of 5 s, and the latency per second.

The paper counts tuples of the injectors in periods of 5 s, and averages latencies at the sinks by second.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import plain
from streamlab.lab.figures.timeline import (
    STEP_S,
    ElasticTimeline,
    means_by_second,
    read_timeline,
)
from streamlab.reports.figures.paper import Line, Panel, Point
from streamlab.results.schema import TrialRow
from streamlab.results.store import Run

PERIOD_S = 5
_ROWS_PER_PERIOD = round(PERIOD_S / STEP_S)

Samples = tuple[tuple[float, float], ...]
"""Pairs of the middle of a period, in s, and a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialCourse:
    """A trial over time.

    Attributes:
        rates: tuples/s that the injectors emitted, by period of 5 s; the last period may be shorter.
        latencies: ms, by second with outputs: the mean over the medians of each 100 ms.
    """

    rates: Samples
    latencies: Samples


def read_courses(run: Run, rows: Sequence[TrialRow]) -> tuple[TrialCourse, ...]:
    """Return the courses of the trials that have a series."""
    timelines = (read_timeline(run, row) for row in rows)
    return tuple(_make_course(timeline) for timeline in timelines if timeline is not None)


def _make_course(timeline: ElasticTimeline) -> TrialCourse:
    """Return the course of a trial; it has no samples if the engine records no counts."""
    emitted_eps = np.trim_zeros(np.nan_to_num(timeline.offered_eps), "b")
    # Leave out the last row, within which the injectors end.
    full = emitted_eps[:-1] if len(emitted_eps) > 1 else emitted_eps
    periods = [
        full[start : start + _ROWS_PER_PERIOD] for start in range(0, len(full), _ROWS_PER_PERIOD)
    ]
    begins = np.arange(len(periods)) * PERIOD_S
    seconds = means_by_second(timeline.latency_ms).tolist()
    return TrialCourse(
        rates=tuple(
            (float(begin + len(period) * STEP_S / 2), float(period.mean()))
            for begin, period in zip(begins, periods, strict=True)
        ),
        latencies=tuple((second + 0.5, ms) for second, ms in enumerate(seconds) if isfinite(ms)),
    )


def as_numbers(courses: Sequence[TrialCourse]) -> dict[str, JsonValue]:
    """Return the values of trials as JSON; empty without trials."""
    if not courses:
        return {}
    return {
        "throughput_by_5_s_eps": [[rate for _, rate in course.rates] for course in courses],
        "latency_by_second_ms": [[ms for _, ms in course.latencies] for course in courses],
    }


def rows_over_time(
    by_column: Sequence[Mapping[str, Sequence[TrialCourse]]], scales: Sequence[str]
) -> list[list[Panel]]:
    """Return a row of panels with rates and one with latencies; each line shows its first trial.

    `by_column` has the trials of each line, for each column of the figure. Columns with equal `scales` share
    their vertical scale. Without any trials there are no rows.
    """
    if not any(trials for column in by_column for trials in column.values()):
        return []

    def row(
        y_label: str, pick: Callable[[TrialCourse], Samples], write: Callable[[float], str] | None
    ) -> list[Panel]:
        samples_by_column = [
            {name: pick(trials[0]) if trials else () for name, trials in column.items()}
            for column in by_column
        ]
        return [
            Panel(
                title="",
                y_label=y_label,
                x_label="seconds",
                lines=[
                    Line(name=name, colour=colour, points=[Point(t, v, v, v) for t, v in samples])
                    for colour, (name, samples) in enumerate(lines.items())
                ],
                span=[
                    v
                    for column_samples, column_scale in zip(samples_by_column, scales, strict=True)
                    if column_scale == scale
                    for samples in column_samples.values()
                    for _, v in samples
                ],
                log_y=write is not None,
                write=write,
                x_span=(0.0,),
                empty="no verified trial with a series is long enough",
            )
            for lines, scale in zip(samples_by_column, scales, strict=True)
        ]

    return [
        row("tuples/s, periods of 5 s", lambda course: course.rates, None),
        row("latency of each second, ms", lambda course: course.latencies, plain),
    ]
