"""Reproduces figure 12 of STRETCH: a zoom on the largest rise of the rate in figure 11."""

from math import inf

from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.judge import PublishedClaim, judge
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import reconfigurations, several_workers, sweep_points
from streamlab.lab.figures.stretch.abrupt import (
    instances_needed,
    longest_change_ms,
    per_instance,
    phase_notes,
    rate_variation,
    series_of,
)
from streamlab.lab.figures.stretch.phases import SEEDS_11, STAGES_11, phases, scale, top_eps
from streamlab.lab.figures.stretch.shared import VSN, facts, longest_reconfiguration
from streamlab.lab.figures.stretch.systems import OPERATOR_10
from streamlab.lab.figures.stretch.timelines import (
    each,
    panels,
    part,
    side_by_side,
    summary,
    timelines,
)
from streamlab.lab.figures.timeline import ElasticTimeline, mean
from streamlab.reports.figures.paper import Layout, Shade, draw
from streamlab.results.stats.estimates import Level, Middle, cell_median

LABEL = f"phases{SEEDS_11[0]}"


def _outcome(options: Options, runs: Runs) -> Outcome:
    share, top = scale(options), top_eps(options, runs)
    trials = timelines(runs, [LABEL]).get(LABEL, [])
    planned = phases(SEEDS_11[0], share, top)
    needed = instances_needed(options, runs, SEEDS_11[0])
    # The largest rise of the needed number of instances; among equal ones, of the rate.
    rises = [
        (needed[at] - needed[at - 1], planned[at].rate_eps - planned[at - 1].rate_eps, at)
        for at in range(1, len(planned))
    ]
    growth, _, at = max(rises, default=(0, 0.0, 0))
    at_s = sum(phase.length_s for phase in planned[:at])
    transition = facts().one(figure="12", quantity="transition")
    ws_s = transition.high * share
    transitions = [part(timeline, at_s, at_s + ws_s) for timeline in trials]
    needs = (
        series_of(trials),
        several_workers(options),
        sweep_points("further instances that the largest rise of the rate needs", growth, 1),
        rate_variation(trials, planned),
    )

    def instances_gained(timeline: ElasticTimeline) -> float | None:
        before = mean(timeline.instances, timeline.between(at_s - ws_s, at_s))
        after = mean(timeline.instances, timeline.between(at_s + ws_s, at_s + 2 * ws_s))
        return None if before is None or after is None else after - before

    posed = (
        PublishedClaim(
            text="instances after the transition less those before it",
            published="more",
            source="section 8.5",
        )
        .of(OPERATOR_10)
        .given(*needs)
        .shape(each(trials, instances_gained, Level), 0.5, inf),
        PublishedClaim(
            text="reconfigurations within the transition",
            published="the number changes gradually",
            source="section 8.5",
        )
        .of(OPERATOR_10)
        .given(*needs)
        .shape(each(transitions, lambda timeline: float(len(timeline.changes)), Middle), 1, inf),
        longest_reconfiguration(
            "longest reconfiguration within it",
            each(transitions, longest_change_ms, cell_median),
            *needs,
            reconfigurations(transitions),
        ),
    )
    figure_notes = phase_notes(
        options,
        runs,
        "The largest rise of the rate of figure 11; shaded until WS is exceeded. In the paper it "
        "is at 290 s.",
    )
    begin, end = max(0.0, at_s - 2 * ws_s), at_s + 3 * ws_s
    columns = [
        panels(
            part(timeline, begin, end),
            title="",
            per_instance=per_instance(options, runs),
            shades=[Shade(name="transition", begin=at_s, end=at_s + ws_s)],
        )
        for timeline in trials[:1]
    ]
    return Outcome(
        claims=judge(posed),
        notes=figure_notes,
        numbers={"rise_at_s": at_s, "trials": [summary(timeline) for timeline in trials]},
        draw=lambda: draw(
            Layout(
                title="STRETCH, figure 12: the largest rise of figure 11",
                rows=side_by_side(columns),
                notes=figure_notes,
                height_in=1.1,
                width_in=5.6,
            )
        ),
    )


FIGURE = Figure(
    id="stretch:12",
    title="zoom on a rise of the rate of figure 11",
    shows="the same around the largest rise, with the transition until WS is exceeded",
    needs=("scale_join", VSN),
    stages=STAGES_11,
    scale=scale,
    outcome=_outcome,
)
