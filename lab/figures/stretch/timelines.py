"""What figures 10 to 13 and 16 to 18 share: trials over time, one panel below the other."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from streamlab.lab.figures.experiment import plain
from streamlab.lab.figures.figure import Runs
from streamlab.lab.figures.stretch.phases import Phase
from streamlab.lab.figures.timeline import ElasticTimeline, Values, binned, mean, read_timeline
from streamlab.reports.figures.paper import Line, Mark, Panel, Point, Shade
from streamlab.results.query import by_cell
from streamlab.results.schema import VERIFIED
from streamlab.results.stats.estimates import Estimate

NO_SERIES = "there is no verified trial with a series"


def timelines(runs: Runs, labels: Sequence[str]) -> dict[str, list[ElasticTimeline]]:
    """Return the verified trials of each label that have a series; the first one is drawn."""
    found: dict[str, list[ElasticTimeline]] = {}
    for cell in by_cell(runs[-1].rows):
        if cell.status not in VERIFIED or cell.label is None or cell.label not in labels:
            continue
        for row in cell.rows:
            timeline = read_timeline(runs[-1], row)
            if timeline is not None:
                found.setdefault(cell.label, []).append(timeline)
    return found


def each(
    found: Iterable[ElasticTimeline],
    value: Callable[[ElasticTimeline], float | None],
    kind: Callable[[tuple[float, ...]], Estimate],
) -> Estimate | None:
    """Return the estimate of what `value` takes from trials; None where none of them has it."""
    values = tuple(known for timeline in found if (known := value(timeline)) is not None)
    return kind(values) if values else None


def part(timeline: ElasticTimeline, begin_s: float, end_s: float) -> ElasticTimeline:
    """Return a stretch of a timeline."""
    where = timeline.between(begin_s, end_s)
    return ElasticTimeline(
        t_s=timeline.t_s[where],
        offered_eps=timeline.offered_eps[where],
        consumed_eps=timeline.consumed_eps[where],
        comparisons_per_s=timeline.comparisons_per_s[where],
        instances=timeline.instances[where],
        latency_ms=timeline.latency_ms[where],
        load_cov=timeline.load_cov[where],
        changes=tuple(c for c in timeline.changes if begin_s <= c.at_ns * 1e-9 < end_s),
    )


def line(
    timeline: ElasticTimeline,
    values: Values,
    name: str = "measured",
    colour: int = 0,
    style: str = "plain",
) -> Line:
    """Return values of a timeline as a line without marks; `steps` for what is counted."""
    found = binned(timeline.t_s, values, last=style == "steps")
    return Line(name=name, points=[Point(t, v, v, v) for t, v in found], colour=colour, style=style)


def panels(
    timeline: ElasticTimeline,
    *,
    title: str,
    per_instance: float | None,
    marks_ms: Sequence[Mark] = (),
    shades: Sequence[Shade] = (),
    phases: Sequence[Phase] = (),
) -> list[Panel]:
    """Return rate, instances, throughput with the capacity of the instances, and latency.

    Args:
        timeline: of the trial.
        title: of the column.
        per_instance: comparisons a second that one instance can do; None: no band.
        marks_ms: published latencies.
        shades: in all panels.
        phases: what was to be offered, drawn beside what was.
    """
    throughput = [line(timeline, timeline.comparisons_per_s)]
    if per_instance is not None:
        throughput.insert(0, _capacity(timeline, per_instance))
    rates = [line(timeline, timeline.offered_eps)]
    if phases:
        rates.insert(0, _asked_for(phases))
    return [
        Panel(title=title, y_label="(a) input rate, tuples/s", lines=rates, shades=shades),
        Panel(
            title="",
            y_label="(b) instances",
            lines=[line(timeline, timeline.instances, style="steps")],
            shades=shades,
            write=plain,
            whole=True,
        ),
        Panel(
            title="",
            y_label="(c) comparisons/s",
            lines=throughput,
            shades=shades,
            empty="comparisons were not counted",
        ),
        Panel(
            title="",
            y_label="(d) latency p50, ms",
            x_label="seconds",
            lines=[line(timeline, timeline.latency_ms)],
            marks=marks_ms,
            shades=shades,
            log_y=True,
            write=plain,
        ),
    ]


def side_by_side(columns: Sequence[Sequence[Panel]], empty: str = NO_SERIES) -> list[list[Panel]]:
    """Return columns of panels as rows; without any, one panel that says why it is `empty`."""
    if not columns:
        return [[Panel(title="", y_label="", empty=empty)]]
    return [list(row) for row in zip(*columns, strict=True)]


def summary(timeline: ElasticTimeline) -> dict[str, object]:
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


def _capacity(timeline: ElasticTimeline, per_instance: float) -> Line:
    top = timeline.instances * per_instance
    band = [Point(t, v * 0.75, v * 0.7, v * 0.8) for t, v in binned(timeline.t_s, top, last=True)]
    return Line(name="70 to 80 % of capacity", points=band, colour=4, style="band", band=True)


def _asked_for(phases: Sequence[Phase]) -> Line:
    begins = np.cumsum([0.0, *(phase.length_s for phase in phases)]).tolist()
    rates = [phase.rate_eps for phase in phases]
    points = [Point(t, v, v, v) for t, v in zip(begins, [*rates, rates[-1]], strict=True)]
    return Line(name="asked for", points=points, colour=3, style="steps")
