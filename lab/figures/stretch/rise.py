"""Figure 12 of STRETCH: the largest rise of the rate in figure 11, seen from nearby."""

from math import ceil, inf

from lab.figures.figure import Figure, Outcome, Runs
from lab.figures.judge import PublishedClaim, judge
from lab.figures.options import Options
from lab.figures.stretch.abrupt import per_instance, said, slowest
from lab.figures.stretch.phases import SEEDS_11, STAGES_11, UPPER, WS_MS, phases, scale, top_eps
from lab.figures.stretch.shared import ALONE, VSN, facts, longest_reconfiguration
from lab.figures.stretch.steps import window_ms
from lab.figures.stretch.systems import STRETCH
from lab.figures.stretch.timelines import (
    NO_SERIES,
    each,
    panels,
    part,
    side_by_side,
    summary,
    timelines,
)
from lab.figures.timeline import ElasticTimeline, mean
from reports.figures.paper import Layout, Shade, draw
from results.stats.estimates import Level, Middle, one

LABEL = f"phases{SEEDS_11[0]}"


def _outcome(options: Options, runs: Runs) -> Outcome:
    share, top = scale(options), top_eps(options, runs)
    found = timelines(runs, [LABEL]).get(LABEL, [])
    planned = phases(SEEDS_11[0], share, top)
    per_one = per_instance(options, runs)
    ws_ms = window_ms(share, WS_MS)
    needed = [_needed(phase.rate_eps, ws_ms, per_one, max(options.instances)) for phase in planned]
    # The largest rise of the number of instances that are needed; of those, of the rate.
    rises = [
        (needed[at] - needed[at - 1], planned[at].rate_eps - planned[at - 1].rate_eps, at)
        for at in range(1, len(planned))
    ]
    more, _, at = max(rises, default=(0, 0.0, 0))
    at_s = sum(phase.length_s for phase in planned[:at])
    transition = facts().one(figure="12", quantity="transition")
    ws_s = transition.high * share
    blocked = None if found else NO_SERIES
    if blocked is None and max(options.instances) == 1:
        blocked = ALONE
    if blocked is None and more < 1:
        blocked = "no rise of the rate needs a further instance at these rates"
    inside = [part(timeline, at_s, at_s + ws_s) for timeline in found]

    def grown(timeline: ElasticTimeline) -> float | None:
        before = mean(timeline.instances, timeline.between(at_s - ws_s, at_s))
        after = mean(timeline.instances, timeline.between(at_s + ws_s, at_s + 2 * ws_s))
        return None if before is None or after is None else after - before

    posed = (
        PublishedClaim(
            text="instances after the transition less those before it",
            published="more",
            source="section 8.5",
            blocked=blocked,
        )
        .of(STRETCH)
        .shape(each(found, grown, Level), 0.5, inf),
        PublishedClaim(
            text="reconfigurations within the transition",
            published="the number changes gradually",
            source="section 8.5",
            blocked=blocked,
        )
        .of(STRETCH)
        .shape(each(inside, lambda timeline: float(len(timeline.changes)), Middle), 1, inf),
        longest_reconfiguration(
            "longest reconfiguration within it",
            each(inside, slowest, one),
            blocked,
        ),
    )
    told = said(options, runs, "The largest rise of the rate of figure 11; shaded until WS is "
                "exceeded. In the paper it is at 290 s.")  # fmt: skip
    begin, end = max(0.0, at_s - 2 * ws_s), at_s + 3 * ws_s
    columns = [
        panels(
            part(timeline, begin, end),
            title="",
            per_instance=per_one,
            shades=[Shade(name="transition", begin=at_s, end=at_s + ws_s)],
        )
        for timeline in found[:1]
    ]
    return Outcome(
        claims=judge(posed),
        notes=told,
        numbers={"rise_at_s": at_s, "trials": [summary(timeline) for timeline in found]},
        draw=lambda: draw(
            Layout(
                title="STRETCH, figure 12: the largest rise of figure 11",
                rows=side_by_side(columns),
                notes=told,
                height_in=1.1,
                width_in=5.6,
            )
        ),
    )


def _needed(rate_eps: float, ws_ms: int, one: float, most: int) -> int:
    """Return how many instances a rate needs with full windows, at 80 % of what `one` can do."""
    return min(most, max(1, ceil(rate_eps**2 * ws_ms / 2000 / (UPPER * one) - 1e-9)))


FIGURE = Figure(
    id="stretch:12",
    title="zoom on a rise of the rate of figure 11",
    shows="the same around the largest rise, with the transition until WS is exceeded",
    needs=("scale_join", VSN),
    stages=STAGES_11,
    outcome=_outcome,
)
