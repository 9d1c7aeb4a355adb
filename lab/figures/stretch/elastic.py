"""Table IV and figures 9 and 10 of STRETCH: single reconfigurations."""

from collections.abc import Sequence
from math import inf

import numpy as np

from lab.figures.course import binned, mean
from lab.figures.figure import Figure, Outcome, Runs
from lab.figures.measured import middle, quotient
from lab.figures.options import Options
from lab.figures.stretch.shared import VSN, facts, notes
from lab.figures.stretch.steps import (
    ADHOC,
    DECOMMISSION,
    PROVISION,
    STAGES,
    Step,
    expected_after,
    scale,
    steps,
    window_ms,
)
from lab.figures.verdict import SHAPE, Asked, Claim
from reports.figures.paper import Layout, Line, Mark, Panel, Point, Shade, draw

_BOTH = (PROVISION, DECOMMISSION)
_COLOURS = {PROVISION: 0, DECOMMISSION: 1}
_NEEDS = ("scale_join", VSN, ADHOC)
_LARGE = 52
"""Instances after the only reconfiguration whose time the text gives."""


def _said(options: Options, runs: Runs, *more: str) -> tuple[str, ...]:
    ws_s = window_ms(scale(options)) / 1000
    return notes(
        options,
        scale(options),
        runs,
        f"ScaleJoin, window {ws_s:g} s; at the start 70 % of what the instances can do, then "
        "120 % or 30 %; the window's population stays, so that work is linear in the rate.",
        *more,
    )


def _elastic(options: Options, runs: Runs) -> tuple[Step, ...]:
    return tuple(step for step in steps(options, runs) if step.elastic)


def _afters(found: Sequence[Step], direction: str) -> dict[int, list[int]]:
    by_start: dict[int, list[int]] = {}
    for step in found:
        if step.direction == direction:
            by_start.setdefault(step.start, []).append(
                step.start if step.after is None else step.after
            )
    return dict(sorted(by_start.items()))


def _outcome_t4(options: Options, runs: Runs) -> Outcome:
    found = _elastic(options, runs)
    claims: list[Claim] = []
    panels = []
    for direction in _BOTH:
        afters = _afters(found, direction)
        published = {int(fact.x): fact for fact in facts().of(figure="T4", series=direction)}
        for start, values in afters.items():
            expected = expected_after(direction, start)
            fact = published.get(start)
            got = middle(values)
            beyond = start > options.cores or expected > options.cores
            claims.append(
                Asked(
                    text=f"{direction} from {start}: instances after it",
                    published=f"{fact.low:g}" if fact else f"{expected} by the paper's rule",
                    source=fact.source if fact else "section 8.4",
                    blocked=_too_many(options, max(start, expected)) if beyond else None,
                ).near(got, expected, expected, 0.0)
            )
            claims.append(
                Asked(
                    text=f"{direction} from {start}: there are {_direction(direction)} afterwards",
                    published=_direction(direction),
                    source="section 8.4",
                    blocked=_too_many(options, start) if start > options.cores else None,
                ).at_least(
                    None if got is None else (got - start) * (1 if direction == PROVISION else -1),
                    1,
                    kind=SHAPE,
                )
            )
        left = [n for n in published if n not in afters]
        if left:
            claims.append(
                Asked(
                    text=f"{direction} from {', '.join(map(str, left))}",
                    published=", ".join(f"{published[n].low:g}" for n in left),
                    source="table IV",
                    blocked=f"there were no such starts on {options.cores} cores",
                ).near(None, 1, 1, 0.0)
            )
        panels.append(
            Panel(
                title=direction,
                y_label="instances afterwards",
                x_label="instances at the start",
                lines=[
                    Line(
                        name="measured",
                        points=[
                            Point(n, middle(v) or 0, min(v), max(v), n > options.cores)
                            for n, v in afters.items()
                        ],
                        colour=_COLOURS[direction],
                        style="marks",
                    )
                ],
                marks=[
                    Mark(name="table IV", x=float(n), low=fact.low, high=fact.high)
                    for n, fact in published.items()
                ],
                write=_plain,
                whole=True,
                empty="no reconfiguration was measured",
            )
        )
    said = _said(options, runs)
    return Outcome(
        claims=tuple(claims),
        notes=said,
        numbers={d: {str(n): v for n, v in _afters(found, d).items()} for d in _BOTH},
        draw=lambda: draw(
            Layout(title="STRETCH, table IV: instances before and after", rows=[panels], notes=said)
        ),
    )


def _outcome_9(options: Options, runs: Runs) -> Outcome:
    found = _elastic(options, runs)
    limit = facts().one(figure="9", series="all", quantity="duration")
    spread = facts().one(figure="9", quantity="coefficient of variation")
    at_30 = facts().one(figure="9", series=PROVISION)
    took = {
        d: _by_start([s for s in found if s.direction == d and s.duration_ms is not None], d)
        for d in _BOTH
    }
    covs = _covs(found)
    within = [v for all_ in took.values() for n, v in all_.items() if n <= options.cores]
    judged = [ms for v in within for ms in v]
    several = [c for n, v in covs.items() if 1 < n <= options.cores for c in v]
    claims = (
        Asked(
            text="longest reconfiguration", published=limit.text, source=limit.source
        ).at_most(max(judged, default=None), limit.high, "ms"),
        Asked(
            text="imbalance before a reconfiguration, at its most",
            published=spread.text,
            source=spread.source,
            blocked=None if several else "one instance alone has no imbalance",
        ).at_most(max(several, default=None), spread.high, "%"),
        Asked(
            text="provisioning from 30 instances",
            published=at_30.text,
            source=at_30.source,
            blocked=None if options.cores >= _LARGE else f"{options.cores} cores",
        ).at_most(max(took[PROVISION].get(int(at_30.x), []), default=None), at_30.high * 1.5, "ms"),
    )  # fmt: skip
    said = _said(options, runs, "Imbalance: of the instances' busy time, between 80 % of the time "
                 "before the step and the step.")  # fmt: skip
    starts = sorted({step.start for step in found}) or [1, 2]
    return Outcome(
        claims=claims,
        notes=said,
        numbers={
            "duration_ms": {d: {str(n): v for n, v in all_.items()} for d, all_ in took.items()},
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
                                    points=_points(took[d], options),
                                    colour=_COLOURS[d],
                                    style="marks",
                                )
                                for d in _BOTH
                            ],
                            marks=[Mark(name="always lower than 40 ms", low=0, high=limit.high)],
                            words=[f"{at_30.text} at 30 instances in the paper"],
                            ticks=starts,
                            log_y=True,
                            write=lambda value: f"{value:g}",
                        ),
                        Panel(
                            title="Imbalance before it",
                            y_label="coefficient of variation, %",
                            x_label="instances at the start",
                            lines=[
                                Line(
                                    name="load",
                                    points=_points(covs, options),
                                    colour=2,
                                    style="marks",
                                )
                            ],
                            marks=[Mark(name="at most 2 %", low=0, high=spread.high)],
                            ticks=starts,
                            write=lambda value: f"{value:g}",
                        ),
                    ]
                ],
                notes=said,
            )
        ),
    )


def _outcome_10(options: Options, runs: Runs) -> Outcome:
    found = steps(options, runs)
    claims: list[Claim] = []
    columns: list[list[Panel]] = []
    fact = facts().one(figure="10", series=DECOMMISSION, quantity="elastic/static")
    for direction in _BOTH:
        both = _pair(found, direction)
        if both is None:
            claims.append(
                Asked(
                    text=f"{direction}: elastic beside static",
                    published="",
                    source="section 8.4",
                    blocked="there is no verified pair of trials",
                ).near(None, 1, 1, 0.1)
            )
            continue
        elastic, static = both
        blocked = None
        if max(elastic.start, elastic.after or 0) > options.cores:
            blocked = _too_many(options, max(elastic.start, elastic.after or 0))
        rates = [_after(step, "consumed_eps") for step in both]
        late = [_after(step, "latency_ms") for step in both]
        if direction == PROVISION:
            asked = Asked(
                text="provision: more is processed than without new instances",
                published="higher rates are sustained",
                source="section 8.4",
                blocked=blocked,
            )
            claims.append(asked.shape(quotient(*rates), 1.02, inf, "x"))
            asked = Asked(
                text="provision: latency afterwards, against without new instances",
                published="without affecting the latency",
                source="section 8.4",
                blocked=blocked,
            )
            claims.append(asked.shape(quotient(*late), 0.0, 1.0, "x"))
        else:
            asked = Asked(
                text="decommission: throughput of elastic/static",
                published=fact.text,
                source=fact.source,
                blocked=blocked,
            )
            claims.append(asked.near(quotient(*rates), fact.low, fact.high, 0.05, "x"))
            asked = Asked(
                text="decommission: latency of elastic/static is lower",
                published="lower latency",
                source="section 8.4",
                blocked=blocked,
            )
            claims.append(asked.shape(quotient(*late), 0.0, 1.0, "x"))
        columns.append(_column(direction, elastic, static))
    rows = [list(row) for row in zip(*columns, strict=True)] or [
        [Panel(title="", y_label="", empty="no verified pair of trials")]
    ]
    said = _said(options, runs, "Static: the ad-hoc ScaleJoin with the instances of the start. The "
                 "paper starts at 18 instances.")  # fmt: skip
    return Outcome(
        claims=tuple(claims),
        notes=said,
        numbers={
            f"{step.direction}-{'elastic' if step.elastic else 'static'}-{step.start}": {
                "after": step.after,
                "duration_ms": step.duration_ms,
                "consumed_eps": _after(step, "consumed_eps"),
                "latency_ms": _after(step, "latency_ms"),
            }
            for step in found
        },
        draw=lambda: draw(
            Layout(
                title="STRETCH, figure 10: one provisioning, one decommissioning",
                rows=rows,
                notes=said,
                height_in=1.15,
                width_in=3.4,
            )
        ),
    )


def _column(direction: str, elastic: Step, static: Step) -> list[Panel]:
    """Return rate, instances, throughput and latency of one direction, from top to bottom."""
    end_s = float(elastic.course.t_s[-1]) if len(elastic.course.t_s) else 1.0
    shade = Shade(name="after the step", begin=elastic.at_s, end=end_s)
    before = elastic.at_s * 0.5
    known = mean(elastic.course.offered_eps, elastic.course.between(before, elastic.at_s))
    percent = {d: facts().one(figure="10", series=d, quantity="rate after") for d in _BOTH}
    ratio = (
        percent[direction].low
        / facts().one(figure="10", series=direction, quantity="rate before").low
    )
    marks = (
        [Mark(name="rate after the step", low=known * ratio, high=known * ratio)] if known else []
    )

    def lines(name: str) -> list[Line]:
        return [
            Line(
                name="elastic" if step.elastic else "static",
                points=[
                    Point(t, v, v, v)
                    for t, v in binned(step.course.t_s, getattr(step.course, name))
                ],
                colour=0 if step.elastic else 2,
                style="plain",
            )
            for step in (elastic, static)
        ]

    counted = bool(np.isfinite(elastic.course.comparisons_per_s).any())
    changes = [
        Line(
            name="elastic",
            points=[
                Point(t, v, v, v)
                for t, v in binned(elastic.course.t_s, elastic.course.instances, last=True)
            ],
            colour=0,
            style="steps",
        )
    ]
    return [
        Panel(
            title=f"{direction} from {elastic.start}",
            y_label="input rate, tuples/s",
            lines=lines("offered_eps")[:1],
            marks=marks,
            shades=[shade],
        ),
        Panel(
            title="", y_label="instances", lines=changes, shades=[shade], write=_plain, whole=True
        ),
        Panel(
            title="",
            y_label="comparisons/s" if counted else "tuples processed/s",
            lines=lines("comparisons_per_s" if counted else "consumed_eps"),
            shades=[shade],
        ),
        Panel(
            title="",
            y_label="latency p50, ms",
            x_label="seconds",
            lines=lines("latency_ms"),
            shades=[shade],
            log_y=True,
            write=_plain,
        ),
    ]


def _plain(value: float) -> str:
    return f"{value:g}"


def _pair(found: Sequence[Step], direction: str) -> tuple[Step, Step] | None:
    """Return an elastic and a static trial of the same direction and start."""
    static = next((s for s in found if s.direction == direction and not s.elastic), None)
    if static is None:
        return None
    same = (direction, static.start)
    elastic = next((s for s in found if s.elastic and (s.direction, s.start) == same), None)
    return None if elastic is None else (elastic, static)


def _after(step: Step, name: str) -> float | None:
    """Return the mean over the last two thirds of the time after the step, while it was offered."""
    end_s = step.at_s * 2
    where = step.course.between(step.at_s + (end_s - step.at_s) / 3, end_s)
    return mean(getattr(step.course, name), where)


def _by_start(found: Sequence[Step], direction: str) -> dict[int, list[float]]:
    by_start: dict[int, list[float]] = {}
    for step in found:
        if step.duration_ms is not None:
            by_start.setdefault(step.start, []).append(step.duration_ms)
    return dict(sorted(by_start.items()))


def _covs(found: Sequence[Step]) -> dict[int, list[float]]:
    """Return the imbalance in percent before the step, by start; one instance has none."""
    by_start: dict[int, list[float]] = {}
    for step in found:
        where = step.course.between(step.at_s * 0.8, step.at_s)
        cov = mean(step.course.load_cov, where)
        if cov is not None and step.start > 1:
            by_start.setdefault(step.start, []).append(cov * 100)
    return dict(sorted(by_start.items()))


def _points(found: dict[int, list[float]], options: Options) -> list[Point]:
    return [Point(n, middle(v) or 0.0, min(v), max(v), n > options.cores) for n, v in found.items()]


def _direction(direction: str) -> str:
    return "more instances" if direction == PROVISION else "fewer instances"


def _too_many(options: Options, instances: int) -> str:
    return f"{instances} instances are more than the {options.cores} cores"


FIGURES = (
    Figure(
        id="stretch:T4",
        title="instances before and after one reconfiguration",
        shows="instances after provisioning and decommissioning, for each number at the start",
        needs=_NEEDS,
        stages=STAGES,
        outcome=_outcome_t4,
    ),
    Figure(
        id="stretch:9",
        title="reconfiguration times and imbalance",
        shows="duration of reconfigurations, and coefficient of variation of the instances' load",
        needs=_NEEDS,
        stages=STAGES,
        outcome=_outcome_9,
    ),
    Figure(
        id="stretch:10",
        title="one provisioning and one decommissioning over time",
        shows="input rate, instances, throughput and latency, elastic against static",
        needs=_NEEDS,
        stages=STAGES,
        outcome=_outcome_10,
    ),
)
