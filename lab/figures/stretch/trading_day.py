"""Reproduces figure 13 of STRETCH: a trading day's bursts on a self-join that finds hedges."""

from dataclasses import replace
from math import ceil

import numpy as np

from streamlab.lab.figures.experiment import outcome, run_table, stage
from streamlab.lab.figures.figure import Figure, Outcome, Runs, Tree
from streamlab.lab.figures.offered_stages import LAG_NOTE
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import reconfigurations, several_workers, sweep_points
from streamlab.lab.figures.stretch.paper_setup import PAPER, VSN, notes, paper_engine, replayed_load
from streamlab.lab.figures.stretch.steps import controller, horizons, window_ms
from streamlab.lab.figures.stretch.timelines import (
    cut_timeline,
    estimate_over,
    panels,
    second_means,
    side_by_side,
    timelines,
)
from streamlab.lab.figures.timeline import ElasticTimeline, longest_above, mean
from streamlab.reports.figures.paper import Mark, Panel
from streamlab.results.stats.estimates import Level, cell_median

DAY_S, WS_MS = 21_600, 30_000
"""The paper's trading day and window, at scale 1."""
MEAN_EPS = 100
"""Least mean rate of generated trades."""
LABEL = "day"
_ZOOM_S = 60.0
"""Width of the zoomed-in view around the peak, at full length."""
_PEAK_MARGIN = 4
"""The generator has two limits: a day has at least this many times the trades of the peak second, and the peak
rate is at least this many times the mean rate."""


def scale(options: Options) -> float:
    """Return the run's day and window lengths as a share of the paper's."""
    return options.scaled(0.01, 0.003)


def _tree(options: Options) -> Tree:
    share = scale(options)
    peak_eps = int(PAPER.fact("13", quantity="peak").low)
    seconds = max(16, round(DAY_S * share))
    mean_eps = min(max(MEAN_EPS, ceil(_PEAK_MARGIN * peak_eps / seconds)), peak_eps // _PEAK_MARGIN)
    warm_up_s = min(2.0, seconds / 10)
    elastic = controller("model", options, **horizons(share))
    return {
        "run": run_table(options, timeout_s=28_800),
        "workload": [
            {
                "name": "nyse_hedge",
                "label": LABEL,
                "events": 2 * seconds * mean_eps,
                "params": {"seconds": seconds, "mean_eps": mean_eps, "peak_eps": peak_eps},
                "query": {"ws_ms": window_ms(share, WS_MS)},
            }
        ],
        "engine": [paper_engine("hedges", options, workers=[1], options=elastic)],
        # The last trade may be shortly before the day's end.
        "load": [replayed_load(LABEL, warm_up_s, seconds * 0.98 - warm_up_s)],
    }


def _outcome(options: Options, runs: Runs) -> Outcome:
    share = scale(options)
    trials = timelines(runs, [LABEL]).get(LABEL, [])
    peak, peak_mean, day_mean = (
        PAPER.fact("13", quantity=q) for q in ("peak", "mean in the peak", "mean of the day")
    )
    views = [_zoom(timeline, share) for timeline in trials]
    # The claims are about an operator that grows and shrinks with the day.
    needs = (
        sweep_points("verified trials with a series", len(trials), 1),
        several_workers(options),
        reconfigurations(trials),
    )
    columns: list[list[Panel]] = []
    if trials:
        day = Mark(name="mean of the day", low=day_mean.low, high=day_mean.high)
        near_peak = Mark(
            name="mean around the peak", low=peak_mean.low, high=peak_mean.high, colour=1
        )
        columns = [
            panels(trials[0], title="the day", per_instance=None, marks_ms=[day]),
            panels(views[0], title="around the peak", per_instance=None, marks_ms=[near_peak]),
        ]
        # The load feeds both sides of the self-join, so its rate is twice the rate of the day's trades.
        fed_twice = Mark(name="peak, fed twice", low=2 * peak.low, high=2 * peak.low)
        columns[0][0] = replace(columns[0][0], marks=[fed_twice])

    def latency_ms(timeline: ElasticTimeline) -> float | None:
        return mean(timeline.latency_ms)

    measured = {
        "peak": estimate_over(trials, lambda timeline: _peak_eps(timeline) / 2, Level),
        "fewest": estimate_over(trials, _share_at_fewest, Level),
        "peak latency": estimate_over(views, latency_ms, cell_median),
        "day latency": estimate_over(trials, latency_ms, cell_median),
    }
    return outcome(
        PAPER.pose_all("13", measured, *needs),
        notes(
            options,
            share,
            runs,
            f"Hedges among generated trades, fed twice; window {window_ms(share, WS_MS) / 1000:g} "
            "s; rates are the paper's. The published data is not public.",
            "Latency: medians of 100 ms, averaged; from due times.",
            LAG_NOTE,
        ),
        {
            "trials": [
                {
                    "peak_eps": _peak_eps(timeline),
                    "mean_latency_ms": mean(timeline.latency_ms),
                    "seconds_above_peak_mean": longest_above(timeline.latency_ms, peak_mean.high),
                    "reconfigurations": len(timeline.changes),
                }
                for timeline in trials
            ]
        },
        "STRETCH, figure 13: a trading day",
        side_by_side(columns),
        height_in=1.1,
        width_in=3.8,
    )


def _share_at_fewest(timeline: ElasticTimeline) -> float | None:
    """Return the share of the time in which the fewest instances were active."""
    if np.isnan(timeline.instances).all():
        return None
    return float(np.nanmean(timeline.instances == np.nanmin(timeline.instances)))


def _peak_eps(timeline: ElasticTimeline) -> float:
    return float(second_means(timeline).max(initial=0.0))


def _zoom(timeline: ElasticTimeline, share: float) -> ElasticTimeline:
    means = second_means(timeline)
    peak_s = float(timeline.t_s[int(means.argmax()) * 10]) if len(means) else 0.0
    half_s = max(_ZOOM_S * share / 2, 5.0)
    return cut_timeline(timeline, max(0.0, peak_s - half_s), peak_s + half_s)


FIGURE = Figure(
    id="stretch:13",
    title="a trading day",
    shows="rate, instances, throughput and latency over the day, and around its peak",
    needs=("nyse_hedge", VSN),
    stages=(stage("day", "trades as they come", _tree),),
    scale=scale,
    outcome=_outcome,
)
