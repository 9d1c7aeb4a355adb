"""Reproduces figures 11, 12 and 16 to 19 of STRETCH: reconfigurations under abrupt random rates.

Figure 12 is a zoom on the largest rise of the rate in figure 11.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from math import ceil

import numpy as np

from streamlab.lab.figures.experiment import outcome
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.offered_stages import LAG_NOTE
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import (
    Need,
    every,
    reconfigurations,
    several_workers,
    sweep_points,
)
from streamlab.lab.figures.stretch.paper_setup import PAPER, VSN, notes
from streamlab.lab.figures.stretch.phases import (
    SEEDS_11,
    SEEDS_16,
    SEEDS_19,
    UPPER,
    WS_MS,
    Phase,
    length_s,
    phases,
    scale,
    stages,
    top_eps,
)
from streamlab.lab.figures.stretch.steps import highest_eps, window_ms
from streamlab.lab.figures.stretch.timelines import (
    cut_timeline,
    estimate_over,
    panels,
    second_means,
    side_by_side,
    summary,
    timelines,
)
from streamlab.lab.figures.timeline import ElasticTimeline, longest_above, mean
from streamlab.reports.figures.paper import Line, Mark, Point, Shade
from streamlab.results.stats.estimates import Level, Middle, cell_median

SPIKE_FACTOR = 3.0
"""A spike is a latency above the published mean times this factor."""
_ROWS_PER_S = 10
"""Rows of a timeline per second: one row per 100 ms."""
_LEAST_SPIKE_S = 1.0
"""Ten periods of the controller: at any scale, a spike cannot end sooner."""


def _claims(
    name: str,
    trials: Sequence[ElasticTimeline],
    figure: str,
    options: Options,
    seed: int,
    runs: Runs,
) -> list[MeasuredClaim]:
    """Pose the paper's claims on an execution with phases, with one number per trial.

    The claim that instances follow the rate needs a rate that varies enough. Claims on the cost of
    reconfigurations need instances that followed.
    """
    above_ms = SPIKE_FACTOR * PAPER.fact(figure, panel="latency", quantity="mean").high
    spike = PAPER.fact(figure, panel="latency", quantity="spike")
    prefix = f"{name}: " if name else ""
    share = scale(options)
    needed_counts = instances_needed(options, runs, seed)
    rate_needs = (
        series_of(trials),
        several_workers(options),
        sweep_points(
            "phases that need another number of instances",
            sum(a != b for a, b in pairwise(needed_counts)),
            1,
        ),
        rate_variation(trials, phases(seed, share, top_eps(options, runs))),
    )
    needs = (*rate_needs, reconfigurations(trials))

    def longest_spike_s(timeline: ElasticTimeline) -> float | None:
        if np.isnan(timeline.latency_ms).all():
            return None
        return longest_above(timeline.latency_ms, above_ms)

    mean_latency = estimate_over(trials, lambda timeline: mean(timeline.latency_ms), cell_median)
    pose = partial(PAPER.pose, figure)
    return [
        pose("follow", estimate_over(trials, rate_correlation, Level), *rate_needs, prefix=prefix),
        pose("processed", estimate_over(trials, _processed_share, Level), *needs, prefix=prefix),
        pose("mean latency", mean_latency, *needs, prefix=prefix),
        pose(
            "spike",
            estimate_over(trials, longest_spike_s, Middle),
            *needs,
            prefix=prefix,
            above_ms=above_ms,
            limit_s=max(spike.high * share, _LEAST_SPIKE_S),
        ),
        pose(
            "longest",
            estimate_over(trials, longest_change_ms, cell_median),
            *needs,
            text=f"{prefix}longest reconfiguration",
        ),
    ]


def series_of(trials: Sequence[ElasticTimeline]) -> Need:
    """Return the need for trials with a series."""
    return sweep_points("verified trials with a series", len(trials), 1)


def rate_variation(trials: Sequence[ElasticTimeline], planned_phases: Sequence[Phase]) -> Need:
    """Return the need for trials whose offered rate varied at least half as much as planned."""
    rates = [phase.rate_eps for phase in planned_phases]
    least = max(rates) / min(rates) / 2
    quantity = "trials whose offered rate varied as planned"
    return every(quantity, trials, lambda timeline: _variation(timeline) >= least)


def _variation(timeline: ElasticTimeline) -> float:
    """Return the ratio of the highest to the lowest offered rate, each over a second."""
    rates = second_means(timeline)
    positive = rates[rates > 0]
    return float(positive.max() / positive.min()) if len(positive) else 0.0


def instances_needed(options: Options, runs: Runs, seed: int) -> list[int]:
    """Return the number of instances that each phase needs at 80 % of capacity, with full windows."""
    instance_rate, ws_ms = per_instance(options, runs), window_ms(scale(options), WS_MS)
    most = max(options.instances)
    return [
        min(most, max(1, ceil(phase.rate_eps**2 * ws_ms / 2000 / (UPPER * instance_rate) - 1e-9)))
        for phase in phases(seed, scale(options), top_eps(options, runs))
    ]


def needed_lines(
    planned_phases: Sequence[Phase],
    needed_counts: Sequence[int],
    begin_s: float,
    end_s: float,
    *gap_s: float,
) -> list[Line]:
    """Return the instances that phases need with full windows, from `begin_s` to `end_s`.

    `gap_s` has the begin and the end of a transition, during which that number is undefined.
    """
    ends = np.cumsum([phase.length_s for phase in planned_phases])
    parts = [(begin_s, gap_s[0]), (gap_s[1], end_s)] if gap_s else [(begin_s, end_s)]
    lines = []
    for low, high in parts:
        starts = [low, *(float(end) for end in ends if low < end < high), high]
        counts = [
            needed_counts[min(int(np.searchsorted(ends, t, side="right")), len(needed_counts) - 1)]
            for t in starts[:-1]
        ]
        steps = zip(starts, [*counts, counts[-1]], strict=True)
        points = [Point(t, count, count, count) for t, count in steps]
        lines.append(Line(name="needed, windows full", points=points, colour=3, style="steps"))
    return lines


def longest_change_ms(timeline: ElasticTimeline) -> float | None:
    """Return the longest reconfiguration in ms; None without any."""
    return max((change.duration_ns * 1e-6 for change in timeline.changes), default=None)


def _processed_share(timeline: ElasticTimeline) -> float | None:
    offered_total = float(np.nansum(timeline.offered_eps))
    return float(np.nansum(timeline.consumed_eps)) / offered_total if offered_total > 0 else None


def rate_correlation(timeline: ElasticTimeline) -> float | None:
    """Return the correlation of the offered rate, by second, with the instances at the second's end."""
    width = _ROWS_PER_S
    rows = len(timeline.t_s) // width * width
    if rows < 3 * width:
        return None
    rate = np.nanmean(timeline.offered_eps[:rows].reshape(-1, width), axis=1)
    count = timeline.instances[width - 1 : rows : width]
    valid = ~(np.isnan(rate) | np.isnan(count))
    if valid.sum() < 3 or np.ptp(rate[valid]) == 0 or np.ptp(count[valid]) == 0:
        return 0.0 if valid.sum() >= 3 else None
    return float(np.corrcoef(rate[valid], count[valid])[0, 1])


def per_instance(options: Options, runs: Runs) -> float:
    """Return the comparisons per second of one instance, from the rates of the first stage."""
    ws_s = window_ms(scale(options), WS_MS) / 1000
    rates = highest_eps(runs, window_ms(scale(options), WS_MS))
    most = max(rates)
    return rates[most] ** 2 * ws_s / 2 / most


def phase_notes(options: Options, runs: Runs, *extra: str) -> tuple[str, ...]:
    """Return the notes of the figures with phases."""
    top = top_eps(options, runs)
    return notes(
        options,
        scale(options),
        runs,
        f"ScaleJoin, window {window_ms(scale(options), WS_MS) / 1000:g} s. The paper's 500 to "
        f"8,000 t/s correspond to {top / 16:,.0f} to {top:,.0f} t/s here: 80 % of the work of "
        f"{max(options.instances)} instances at the top.",
        "Latency: medians of 100 ms, averaged; from due times.",
        LAG_NOTE,
        *extra,
    )


def _outcome(figure: str, seeds: Sequence[int], options: Options, runs: Runs) -> Outcome:
    share, top = scale(options), top_eps(options, runs)
    trials = timelines(runs, [f"phases{seed}" for seed in seeds])
    mean_latency = PAPER.fact(figure, panel="latency", quantity="mean")
    claims, columns = [], []
    for seed in seeds:
        name = f"execution {seed}" if len(seeds) > 1 else ""
        group = trials.get(f"phases{seed}", [])
        claims += _claims(name, group, figure, options, seed, runs)
        columns += [
            panels(
                timeline,
                title=name,
                per_instance=per_instance(options, runs),
                marks_ms=[Mark(name="mean latency", low=mean_latency.low, high=mean_latency.high)],
                phases=phases(seed, share, top),
                baseline=needed_lines(
                    phases(seed, share, top),
                    instances_needed(options, runs, seed),
                    0.0,
                    length_s(share),
                ),
            )
            for timeline in group[:1]
        ]
    return outcome(
        claims,
        phase_notes(options, runs),
        {label: list(map(summary, group)) for label, group in trials.items()},
        f"STRETCH, {'figures 16 to 18' if len(seeds) > 1 else f'figure {figure}'}: "
        "abrupt random rates",
        side_by_side(columns),
        height_in=1.1,
        width_in=5.6 if len(seeds) == 1 else 3.4,
    )


def _rise_outcome(options: Options, runs: Runs) -> Outcome:
    share, top, (seed,) = scale(options), top_eps(options, runs), SEEDS_11
    trials = timelines(runs, [f"phases{seed}"]).get(f"phases{seed}", [])
    planned_phases = phases(seed, share, top)
    needed_counts = instances_needed(options, runs, seed)
    # Find the phase change with the largest rise in needed instances; among equal ones, with the largest rise in rate.
    rises = [
        (
            needed_counts[i] - needed_counts[i - 1],
            planned_phases[i].rate_eps - planned_phases[i - 1].rate_eps,
            i,
        )
        for i in range(1, len(planned_phases))
    ]
    growth, _, index = max(rises, default=(0, 0.0, 0))
    rise_s = sum(phase.length_s for phase in planned_phases[:index])
    ws_s = PAPER.fact("12", quantity="transition").high * share
    transitions = [cut_timeline(timeline, rise_s, rise_s + ws_s) for timeline in trials]
    needs = (
        series_of(trials),
        several_workers(options),
        sweep_points("further instances that the largest rise of the rate needs", growth, 1),
        rate_variation(trials, planned_phases),
    )

    def instances_gained(timeline: ElasticTimeline) -> float | None:
        before = mean(timeline.instances, timeline.between(rise_s - ws_s, rise_s))
        after = mean(timeline.instances, timeline.between(rise_s + ws_s, rise_s + 2 * ws_s))
        return None if before is None or after is None else after - before

    changes = estimate_over(transitions, lambda timeline: float(len(timeline.changes)), Middle)
    columns = [
        panels(
            cut_timeline(timeline, max(0.0, rise_s - 2 * ws_s), rise_s + 3 * ws_s),
            title="",
            per_instance=per_instance(options, runs),
            shades=[Shade(name="transition", begin=rise_s, end=rise_s + ws_s)],
            baseline=needed_lines(
                planned_phases,
                needed_counts,
                max(0.0, rise_s - 2 * ws_s),
                min(rise_s + 3 * ws_s, length_s(share)),
                rise_s,
                rise_s + ws_s,
            ),
        )
        for timeline in trials[:1]
    ]
    return outcome(
        [
            PAPER.pose(
                "12", "more instances", estimate_over(trials, instances_gained, Level), *needs
            ),
            PAPER.pose("12", "gradual", changes, *needs),
            PAPER.pose(
                "12",
                "longest",
                estimate_over(transitions, longest_change_ms, cell_median),
                *needs,
                reconfigurations(transitions),
                text="longest reconfiguration within it",
            ),
        ],
        phase_notes(
            options,
            runs,
            "The largest rise of the rate of figure 11; shaded until WS is exceeded. In the paper "
            "it is at 290 s.",
        ),
        {"rise_at_s": rise_s, "trials": list(map(summary, trials))},
        "STRETCH, figure 12: the largest rise of figure 11",
        side_by_side(columns),
        height_in=1.1,
        width_in=5.6,
    )


def _figure(number: str, title: str, seeds: tuple[int, ...]) -> Figure:
    return Figure(
        id=f"stretch:{number}",
        title=title,
        shows="input rate, instances, throughput with the capacity band, latency over time",
        needs=("scale_join", VSN),
        stages=stages(seeds),
        scale=scale,
        outcome=partial(_outcome, number, seeds),
    )


ONE_EXECUTION = _figure("11", "abrupt random rates, one execution", SEEDS_11)
RISE = Figure(
    id="stretch:12",
    title="zoom on a rise of the rate of figure 11",
    shows="the same around the largest rise, with the transition until WS is exceeded",
    needs=ONE_EXECUTION.needs,
    stages=ONE_EXECUTION.stages,
    scale=scale,
    outcome=_rise_outcome,
)
THREE_EXECUTIONS = _figure(
    "16", "abrupt random rates, three further executions (figures 16 to 18)", SEEDS_16
)
FOURTH_EXECUTION = _figure("19", "abrupt random rates, the fourth further execution", SEEDS_19)
