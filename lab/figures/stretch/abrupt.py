"""Reproduces figures 11 and 16 to 19 of STRETCH: reconfigurations under abrupt random rates."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, inf

import numpy as np

from streamlab.lab.figures.experiment import asked
from streamlab.lab.figures.figure import Figure, FigureStage, Outcome, Runs
from streamlab.lab.figures.judge import Posed, PublishedClaim, judge
from streamlab.lab.figures.offered_stages import LAG_NOTE
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import (
    Need,
    reconfigurations,
    several_workers,
    sweep_points,
)
from streamlab.lab.figures.stretch.phases import (
    SEEDS_11,
    SEEDS_16,
    SEEDS_19,
    STAGES_11,
    STAGES_16,
    STAGES_19,
    UPPER,
    WS_MS,
    Phase,
    phases,
    scale,
    top_eps,
)
from streamlab.lab.figures.stretch.shared import VSN, facts, longest_reconfiguration, notes
from streamlab.lab.figures.stretch.steps import highest_eps, window_ms
from streamlab.lab.figures.stretch.systems import OPERATOR_10
from streamlab.lab.figures.stretch.timelines import (
    each,
    panels,
    side_by_side,
    summary,
    timelines,
)
from streamlab.lab.figures.timeline import ElasticTimeline, longest_above, mean
from streamlab.reports.figures.paper import Layout, Mark, draw
from streamlab.results.stats.estimates import Level, Middle, cell_median

SPIKE_FACTOR = 3.0
"""A spike is a latency above the published mean times this factor."""
_SECOND = 10
"""Rows of a timeline in a second."""
_LEAST_SPIKE_S = 1.0
"""Ten periods of the controller: at any scale, a spike cannot end sooner."""


def _posed(
    name: str,
    trials: Sequence[ElasticTimeline],
    figure: str,
    options: Options,
    seed: int,
    runs: Runs,
) -> tuple[Posed, ...]:
    """Pose the paper's claims on an execution with phases, with a number for each trial.

    The claim that instances follow the rate needs a rate that requires it. Claims on the cost of
    following need instances that followed.
    """
    late = facts().one(figure=figure, panel="latency", quantity="mean")
    spike = facts().one(figure=figure, panel="latency", quantity="spike")
    prefix = f"{name}: " if name else ""
    share = scale(options)
    needed = instances_needed(options, runs, seed)
    rate_needs = (
        series_of(trials),
        several_workers(options),
        phase_changes(sum(a != b for a, b in pairwise(needed))),
        rate_variation(trials, phases(seed, share, top_eps(options, runs))),
    )
    change_needs = (*rate_needs, reconfigurations(trials))
    limit_s = max(spike.high * share, _LEAST_SPIKE_S)

    def longest_spike_s(timeline: ElasticTimeline) -> float | None:
        if np.isnan(timeline.latency_ms).all():
            return None
        return longest_above(timeline.latency_ms, SPIKE_FACTOR * late.high)

    return (
        PublishedClaim(
            text=f"{prefix}instances follow the rate (correlation)",
            published="added and removed accordingly",
            source="section 8.5",
        )
        .of(OPERATOR_10)
        .given(*rate_needs)
        .shape(each(trials, rate_correlation, Level), 0.5, inf),
        PublishedClaim(
            text=f"{prefix}processed share of what was offered",
            published="throughput is not affected",
            source="section 8.5",
        )
        .of(OPERATOR_10)
        .given(*change_needs)
        .shape(each(trials, _processed_share, Level), 0.99, inf),
        asked(f"{prefix}mean latency, at most", late)
        .of(OPERATOR_10)
        .given(*change_needs)
        .at_most(
            each(trials, lambda timeline: mean(timeline.latency_ms), cell_median),
            late.high * 1.5,
            "ms",
        ),
        PublishedClaim(
            text=f"{prefix}longest time with latency above {SPIKE_FACTOR * late.high:g} ms",
            published=f"{spike.text} at full length",
            source=spike.source,
        )
        .of(OPERATOR_10)
        .given(*change_needs)
        .at_most(each(trials, longest_spike_s, Middle), limit_s, "s"),
        longest_reconfiguration(
            f"{prefix}longest reconfiguration",
            each(trials, longest_change_ms, cell_median),
            *change_needs,
        ),
    )


def series_of(trials: Sequence[ElasticTimeline]) -> Need:
    """Return the need for trials with a series."""
    return sweep_points("verified trials with a series", len(trials), 1)


def rate_variation(trials: Sequence[ElasticTimeline], planned: Sequence[Phase]) -> Need:
    """Return the need for trials whose offered rate varied at least half as much as planned."""
    rates = [phase.rate_eps for phase in planned]
    least = max(rates) / min(rates) / 2
    return Need(
        what="trials whose offered rate varied as planned",
        count=sum(_variation(timeline) >= least for timeline in trials),
        least=max(1, len(trials)),
    )


def _variation(timeline: ElasticTimeline) -> float:
    """Return the ratio of the highest to the lowest offered rate, each over a second."""
    rows = len(timeline.offered_eps) // _SECOND * _SECOND
    rates = np.nan_to_num(timeline.offered_eps[:rows]).reshape(-1, _SECOND).mean(axis=1)
    positive = rates[rates > 0]
    return float(positive.max() / positive.min()) if len(positive) else 0.0


def phase_changes(crossings: int) -> Need:
    """Return the need for phases that need different numbers of instances."""
    return sweep_points("phases that need another number of instances", crossings, 1)


def instances_needed(options: Options, runs: Runs, seed: int) -> list[int]:
    """Return the number of instances each phase needs at 80 % of capacity, with full windows."""
    per_one, ws_ms = per_instance(options, runs), window_ms(scale(options), WS_MS)
    most = max(options.instances)
    return [
        min(most, max(1, ceil(phase.rate_eps**2 * ws_ms / 2000 / (UPPER * per_one) - 1e-9)))
        for phase in phases(seed, scale(options), top_eps(options, runs))
    ]


def longest_change_ms(timeline: ElasticTimeline) -> float | None:
    """Return the longest reconfiguration in ms; None without any."""
    return max((change.duration_ns * 1e-6 for change in timeline.changes), default=None)


def _processed_share(timeline: ElasticTimeline) -> float | None:
    offered = float(np.nansum(timeline.offered_eps))
    return float(np.nansum(timeline.consumed_eps)) / offered if offered > 0 else None


def rate_correlation(timeline: ElasticTimeline) -> float | None:
    """Return the correlation of the offered rate over a second with the instances at its end."""
    width = _SECOND
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
    """Return the comparisons a second of one instance, as measured by the first stage."""
    ws_s = window_ms(scale(options), WS_MS) / 1000
    rates = highest_eps(runs, window_ms(scale(options), WS_MS))
    most = max(rates)
    return rates[most] ** 2 * ws_s / 2 / most


def phase_notes(options: Options, runs: Runs, *more: str) -> tuple[str, ...]:
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
        *more,
    )


def _marks(figure: str) -> list[Mark]:
    late = facts().one(figure=figure, panel="latency", quantity="mean")
    return [Mark(name="mean latency", low=late.low, high=late.high)]


def _outcome(figure: str, seeds: Sequence[int], options: Options, runs: Runs) -> Outcome:
    share, top = scale(options), top_eps(options, runs)
    labels = [f"phases{seed}" for seed in seeds]
    trials = timelines(runs, labels)
    names = {
        label: f"execution {seed}" if len(seeds) > 1 else ""
        for label, seed in zip(labels, seeds, strict=True)
    }
    posed = [
        claim
        for label, seed in zip(labels, seeds, strict=True)
        for claim in _posed(
            names[label],
            trials.get(label, []),
            figure,
            options,
            seed,
            runs,
        )
    ]
    columns = [
        panels(
            trials[label][0],
            title=names[label],
            per_instance=per_instance(options, runs),
            marks_ms=_marks(figure),
            phases=phases(seed, share, top),
        )
        for label, seed in zip(labels, seeds, strict=True)
        if label in trials
    ]
    figure_notes = phase_notes(options, runs)
    return Outcome(
        claims=judge(posed),
        notes=figure_notes,
        numbers={
            label: [summary(timeline) for timeline in group] for label, group in trials.items()
        },
        draw=lambda: draw(
            Layout(
                title=f"STRETCH, {'figures 16 to 18' if len(seeds) > 1 else f'figure {figure}'}: "
                "abrupt random rates",
                rows=side_by_side(columns),
                notes=figure_notes,
                height_in=1.1,
                width_in=5.6 if len(seeds) == 1 else 3.4,
            )
        ),
    )


def _figure(
    number: str, title: str, stages: tuple[FigureStage, ...], seeds: tuple[int, ...]
) -> Figure:
    return Figure(
        id=f"stretch:{number}",
        title=title,
        shows="input rate, instances, throughput with the capacity band, latency over time",
        needs=("scale_join", VSN),
        stages=stages,
        scale=scale,
        outcome=lambda options, runs: _outcome(number, seeds, options, runs),
    )


ONE_EXECUTION = _figure("11", "abrupt random rates, one execution", STAGES_11, SEEDS_11)
THREE_EXECUTIONS = _figure(
    "16", "abrupt random rates, three further executions (figures 16 to 18)", STAGES_16, SEEDS_16
)
FOURTH_EXECUTION = _figure(
    "19", "abrupt random rates, the fourth further execution", STAGES_19, SEEDS_19
)
