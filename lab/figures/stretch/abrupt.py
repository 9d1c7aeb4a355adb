"""Figures 11, 12 and 16 to 18 of STRETCH: many reconfigurations under abrupt random rates."""

from collections.abc import Sequence
from math import ceil, inf

import numpy as np

from lab.figures.course import Course, Values, binned, longest_above, mean, read_course
from lab.figures.figure import Figure, Outcome, Runs
from lab.figures.options import Options
from lab.figures.stretch.phases import (
    SEEDS_11,
    SEEDS_16,
    STAGES_11,
    STAGES_16,
    UPPER,
    WS_MS,
    Phase,
    phases,
    scale,
    top_eps,
)
from lab.figures.stretch.shared import VSN, facts, notes
from lab.figures.stretch.steps import highest_eps, window_ms
from lab.figures.verdict import Asked, Claim
from reports.figures.paper import Layout, Line, Mark, Panel, Point, Shade, draw
from results.query import by_cell
from results.schema import VERIFIED

SPIKE_FACTOR = 3.0
"""A spike is a latency above so many times the published mean."""
_LEAST_SPIKE_S = 1.0
"""Ten looks of the controller: spikes cannot be asked to end sooner, whatever the scale."""


def courses(options: Options, runs: Runs, labels: Sequence[str]) -> dict[str, Course]:
    """Return the first verified trial of each label that has a series."""
    found: dict[str, Course] = {}
    for cell in by_cell(runs[-1].rows):
        if cell.status not in VERIFIED or cell.label is None or cell.label not in labels:
            continue
        for row in cell.rows:
            course = read_course(runs[-1], row)
            if course is not None:
                found.setdefault(cell.label, course)
    return found


def judge(name: str, course: Course | None, figure: str, options: Options, share: float) -> (
    tuple[Claim, ...]
):  # fmt: skip
    """Judge what the paper says of every execution with phases."""
    late = facts().one(figure=figure, panel="latency", quantity="mean")
    spike = facts().one(figure=figure, panel="latency", quantity="spike")
    took = facts().one(figure="9", series="all", quantity="duration")
    before = f"{name}: " if name else ""
    blocked = None if course is not None else "there is no verified trial with a series"
    alone = max(options.instances) == 1
    limit_s = max(spike.high * share, _LEAST_SPIKE_S)
    if course is None:
        course = _EMPTY
    known = ~np.isnan(course.latency_ms)
    lasted = longest_above(course.latency_ms, SPIKE_FACTOR * late.high) if known.any() else None
    slow = max((change.duration_ns * 1e-6 for change in course.changes), default=None)
    kept = None
    if np.nansum(course.offered_eps) > 0:
        kept = float(np.nansum(course.consumed_eps) / np.nansum(course.offered_eps))
    few = "one instance is all there is" if alone else None
    return (
        Asked(
            text=f"{before}instances follow the rate (correlation)",
            published="added and removed accordingly",
            source="section 8.5",
            blocked=blocked or few,
        ).shape(follows(course), 0.5, 1.0),
        Asked(
            text=f"{before}processed share of what was offered",
            published="throughput is not affected",
            source="section 8.5",
            blocked=blocked,
        ).shape(kept, 0.99, inf),
        Asked(
            text=f"{before}mean latency", published=late.text, source=late.source, blocked=blocked
        ).at_most(mean(course.latency_ms, known), late.high * 1.5, "ms"),
        Asked(
            text=f"{before}longest time with latency above {SPIKE_FACTOR * late.high:g} ms",
            published=f"{spike.text} at full length",
            source=spike.source,
            blocked=blocked,
        ).at_most(lasted, limit_s, "s"),
        Asked(
            text=f"{before}longest reconfiguration",
            published=took.text,
            source=took.source,
            blocked=blocked or few,
        ).at_most(slow, took.high, "ms"),
    )


def follows(course: Course) -> float | None:
    """Return the correlation of the offered rate, over a second, with the instances after it."""
    width = 10
    rows = len(course.t_s) // width * width
    if rows < 3 * width:
        return None
    rate = np.nanmean(course.offered_eps[:rows].reshape(-1, width), axis=1)
    count = course.instances[width - 1 : rows : width]
    good = ~(np.isnan(rate) | np.isnan(count))
    if good.sum() < 3 or np.ptp(rate[good]) == 0 or np.ptp(count[good]) == 0:
        return 0.0 if good.sum() >= 3 else None
    return float(np.corrcoef(rate[good], count[good])[0, 1])


def panels(
    course: Course,
    *,
    title: str,
    per_instance: float | None,
    marks_ms: Sequence[Mark] = (),
    shades: Sequence[Shade] = (),
    phases_of: Sequence[Phase] = (),
) -> list[Panel]:
    """Return rate, instances, throughput with the capacity of the instances, and latency.

    Args:
        course: of the trial.
        title: of the column.
        per_instance: comparisons a second that one instance can do; None: no band.
        marks_ms: published latencies.
        shades: in all panels.
        phases_of: what was to be offered, drawn beside what was.
    """

    def line(name: str, values: Values, colour: int = 0, style: str = "plain") -> Line:
        found = binned(course.t_s, values, last=style == "steps")
        return Line(
            name=name, points=[Point(t, v, v, v) for t, v in found], colour=colour, style=style
        )

    throughput = [line("measured", course.comparisons_per_s)]
    if per_instance is not None:
        top = course.instances * per_instance
        band = [
            Point(t, v * 0.75, v * 0.7, v * 0.8)
            for t, v in binned(course.t_s, top, last=True)
        ]  # fmt: skip
        throughput.insert(
            0, Line(name="70 to 80 % of capacity", points=band, colour=4, style="band", band=True)
        )
    planned = []
    begin = 0.0
    for phase in phases_of:
        planned.append(Point(begin, phase.rate_eps, phase.rate_eps, phase.rate_eps))
        begin += phase.length_s
    if planned:
        last = planned[-1]
        planned.append(Point(begin, last.mid, last.mid, last.mid))
    rates = [line("measured", course.offered_eps)]
    if planned:
        rates.insert(0, Line(name="asked for", points=planned, colour=3, style="steps"))
    return [
        Panel(title=title, y_label="(a) input rate, tuples/s", lines=rates, shades=shades),
        Panel(
            title="",
            y_label="(b) instances",
            lines=[line("measured", course.instances, 0, "steps")],
            shades=shades,
            write=_plain,
            whole=True,
        ),
        Panel(title="", y_label="(c) comparisons/s", lines=throughput, shades=shades,
              empty="comparisons were not counted"),
        Panel(
            title="",
            y_label="(d) latency p50, ms",
            x_label="seconds",
            lines=[line("measured", course.latency_ms)],
            marks=marks_ms,
            shades=shades,
            log_y=True,
            write=_plain,
        ),
    ]  # fmt: skip


def per_instance(options: Options, runs: Runs) -> float:
    """Return the comparisons a second of one of the instances, as the first stage measured."""
    ws_s = window_ms(scale(options), WS_MS) / 1000
    found = highest_eps(runs, window_ms(scale(options), WS_MS))
    most = max(found)
    return found[most] ** 2 * ws_s / 2 / most


def said(options: Options, runs: Runs, *more: str) -> tuple[str, ...]:
    """Return the notes of the figures with phases."""
    top = top_eps(options, runs)
    return notes(
        options,
        scale(options),
        runs,
        f"ScaleJoin, window {window_ms(scale(options), WS_MS) / 1000:g} s. The paper's 500 to "
        f"8,000 t/s stand for {top / 16:,.0f} to {top:,.0f} t/s here: 80 % of the work of "
        f"{max(options.instances)} instances at the top.",
        "Latency: medians of 100 ms, averaged; from due times.",
        *more,
    )


def _plain(value: float) -> str:
    return f"{value:g}"


def _marks(figure: str) -> list[Mark]:
    late = facts().one(figure=figure, panel="latency", quantity="mean")
    return [Mark(name="mean latency", low=late.low, high=late.high)]


def _outcome(figure: str, seeds: Sequence[int], options: Options, runs: Runs) -> Outcome:
    share, top = scale(options), top_eps(options, runs)
    labels = [f"phases{seed}" for seed in seeds]
    found = courses(options, runs, labels)
    names = {
        label: f"execution {seed}" if len(seeds) > 1 else ""
        for label, seed in zip(labels, seeds, strict=True)
    }
    claims = tuple(
        claim
        for label in labels
        for claim in judge(names[label], found.get(label), figure, options, share)
    )
    columns = [
        panels(
            found[label],
            title=names[label],
            per_instance=per_instance(options, runs),
            marks_ms=_marks(figure),
            phases_of=phases(seed, share, top),
        )
        for label, seed in zip(labels, seeds, strict=True)
        if label in found
    ]
    told = said(options, runs)
    return Outcome(
        claims=claims,
        notes=told,
        numbers={label: _numbers(course) for label, course in found.items()},
        draw=lambda: draw(
            Layout(
                title=f"STRETCH, {'figures 16 to 18' if len(seeds) > 1 else f'figure {figure}'}: "
                "abrupt random rates",
                rows=_rows(columns),
                notes=told,
                height_in=1.1,
                width_in=5.6 if len(seeds) == 1 else 3.4,
            )
        ),
    )


def _outcome_12(options: Options, runs: Runs) -> Outcome:
    share, top = scale(options), top_eps(options, runs)
    course = courses(options, runs, [f"phases{SEEDS_11[0]}"]).get(f"phases{SEEDS_11[0]}")
    planned = phases(SEEDS_11[0], share, top)
    one = per_instance(options, runs)
    ws_ms = window_ms(share, WS_MS)
    needed = [_needed(phase.rate_eps, ws_ms, one, max(options.instances)) for phase in planned]
    # The largest rise of the number of instances that are needed; of those, of the rate.
    rises = [
        (needed[at] - needed[at - 1], planned[at].rate_eps - planned[at - 1].rate_eps, at)
        for at in range(1, len(planned))
    ]
    more, _, at = max(rises, default=(0, 0.0, 0))
    at_s = sum(phase.length_s for phase in planned[:at])
    transition = facts().one(figure="12", quantity="transition")
    ws_s = transition.high * share
    took = facts().one(figure="9", series="all", quantity="duration")
    blocked = None if course else "there is no verified trial with a series"
    if blocked is None and max(options.instances) == 1:
        blocked = "one instance is all there is"
    if blocked is None and more < 1:
        blocked = "no rise of the rate needs a further instance at these rates"
    use = course or _EMPTY
    inside = [c for c in use.changes if at_s <= c.at_ns * 1e-9 < at_s + ws_s]
    grown = None
    if course is not None:
        before = mean(course.instances, course.between(at_s - ws_s, at_s))
        after = mean(course.instances, course.between(at_s + ws_s, at_s + 2 * ws_s))
        grown = None if before is None or after is None else after - before
    claims = (
        Asked(
            text="instances after the transition less those before it",
            published="more",
            source="section 8.5",
            blocked=blocked,
        ).shape(grown, 0.5, inf),
        Asked(
            text="reconfigurations within the transition",
            published="the number changes gradually",
            source="section 8.5",
            blocked=blocked,
        ).shape(None if course is None else float(len(inside)), 1, inf),
        Asked(
            text="longest reconfiguration within it",
            published=took.text,
            source=took.source,
            blocked=blocked,
        ).at_most(max((c.duration_ns * 1e-6 for c in inside), default=None), took.high, "ms"),
    )
    told = said(options, runs, "The largest rise of the rate of figure 11; shaded until WS is "
                "exceeded. In the paper it is at 290 s.")  # fmt: skip
    begin, end = max(0.0, at_s - 2 * ws_s), at_s + 3 * ws_s
    rows = [[Panel(title="", y_label="", empty="no verified trial")]]
    if course is not None:
        zoomed = part(course, begin, end)
        rows = [
            [panel]
            for panel in panels(
                zoomed,
                title="",
                per_instance=per_instance(options, runs),
                shades=[Shade(name="transition", begin=at_s, end=at_s + ws_s)],
            )
        ]
    return Outcome(
        claims=claims,
        notes=told,
        numbers={"rise_at_s": at_s} | ({} if course is None else _numbers(course)),
        draw=lambda: draw(
            Layout(
                title="STRETCH, figure 12: the largest rise of figure 11",
                rows=rows,
                notes=told,
                height_in=1.1,
                width_in=5.6,
            )
        ),
    )


def _needed(rate_eps: float, ws_ms: int, one: float, most: int) -> int:
    """Return how many instances a rate needs with full windows, at 80 % of what `one` can do."""
    return min(most, max(1, ceil(rate_eps**2 * ws_ms / 2000 / (UPPER * one) - 1e-9)))


def part(course: Course, begin_s: float, end_s: float) -> Course:
    """Return a stretch of a course."""
    where = course.between(begin_s, end_s)
    return Course(
        t_s=course.t_s[where],
        offered_eps=course.offered_eps[where],
        consumed_eps=course.consumed_eps[where],
        comparisons_per_s=course.comparisons_per_s[where],
        instances=course.instances[where],
        latency_ms=course.latency_ms[where],
        load_cov=course.load_cov[where],
        changes=tuple(c for c in course.changes if begin_s <= c.at_ns * 1e-9 < end_s),
    )


def _rows(columns: Sequence[Sequence[Panel]]) -> list[list[Panel]]:
    if not columns:
        return [[Panel(title="", y_label="", empty="no verified trial with a series")]]
    return [list(row) for row in zip(*columns, strict=True)]


def _numbers(course: Course) -> dict[str, object]:
    everything = course.between(0, inf)
    return {
        "mean_latency_ms": mean(course.latency_ms, everything),
        "mean_offered_eps": mean(course.offered_eps, everything),
        "mean_instances": mean(course.instances, everything),
        "reconfigurations": [
            {
                "at_s": change.at_ns * 1e-9,
                "duration_ms": change.duration_ns * 1e-6,
                "before": change.before,
                "after": change.after,
            }
            for change in course.changes
        ],
    }


_NONE = np.zeros(0)
_EMPTY = Course(
    t_s=_NONE,
    offered_eps=_NONE,
    consumed_eps=_NONE,
    comparisons_per_s=_NONE,
    instances=_NONE,
    latency_ms=_NONE,
    load_cov=_NONE,
    changes=(),
)

FIGURES = (
    Figure(
        id="stretch:11",
        title="abrupt random rates, one execution",
        shows="input rate, instances, throughput with the capacity band, latency over time",
        needs=("scale_join", VSN),
        stages=STAGES_11,
        outcome=lambda options, runs: _outcome("11", SEEDS_11, options, runs),
    ),
    Figure(
        id="stretch:12",
        title="zoom on a rise of the rate of figure 11",
        shows="the same around the largest rise, with the transition until WS is exceeded",
        needs=("scale_join", VSN),
        stages=STAGES_11,
        outcome=_outcome_12,
    ),
    Figure(
        id="stretch:16",
        title="abrupt random rates, three further executions (figures 16 to 18)",
        shows="input rate, instances, throughput with the capacity band, latency over time",
        needs=("scale_join", VSN),
        stages=STAGES_16,
        outcome=lambda options, runs: _outcome("16", SEEDS_16, options, runs),
    ),
)
