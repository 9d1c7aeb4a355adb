"""Reproduces figure 13 of STRETCH: a trading day's bursts on a self-join that finds hedges."""

from math import ceil

import numpy as np

from streamlab.lab.figures.experiment import asked, engine, run_table
from streamlab.lab.figures.figure import Figure, FigureStage, Outcome, Plan, Runs
from streamlab.lab.figures.judge import PublishedClaim, judge
from streamlab.lab.figures.offered_stages import LAG_NOTE, SEND_LAG_MS
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import reconfigurations, several_workers, sweep_points
from streamlab.lab.figures.stretch.shared import VSN, facts, notes
from streamlab.lab.figures.stretch.steps import controller, horizons, window_ms
from streamlab.lab.figures.stretch.systems import HEDGES, STORED_TUPLES
from streamlab.lab.figures.stretch.timelines import each, panels, part, side_by_side, timelines
from streamlab.lab.figures.timeline import ElasticTimeline, longest_above, mean
from streamlab.lab.figures.verdict import SHAPE
from streamlab.reports.figures.paper import Layout, Mark, Panel, draw
from streamlab.results.stats.estimates import Level, cell_median

DAY_S, WS_MS = 21_600, 30_000
MEAN_EPS = 100
LABEL = "day"
_ZOOM_S = 60.0
"""Width of the zoomed-in view around the peak, at full length."""
_ROOM = 4
"""The generator needs a day of at least this many times the peak's trades, and a mean of at most the
peak divided by this."""


def scale(options: Options) -> float:
    """Return the share of the paper's lengths."""
    return options.scaled(0.01, 0.003)


def _plan(options: Options, runs: Runs) -> Plan:
    share = scale(options)
    peak = facts().one(figure="13", quantity="peak")
    seconds = max(16, round(DAY_S * share))
    mean_eps = min(max(MEAN_EPS, ceil(_ROOM * peak.low / seconds)), int(peak.low) // _ROOM)
    warm_up_s = min(2.0, seconds / 10)
    return Plan(
        tree={
            "run": run_table(options, timeout_s=28_800),
            "workload": [
                {
                    "name": "nyse_hedge",
                    "label": LABEL,
                    "events": 2 * seconds * mean_eps,
                    "params": {
                        "seconds": seconds,
                        "mean_eps": mean_eps,
                        "peak_eps": int(peak.low),
                    },
                    "query": {"ws_ms": window_ms(share, WS_MS)},
                }
            ],
            "engine": [
                engine(
                    VSN,
                    options,
                    workers=[1],
                    options={
                        **controller("model", options, **horizons(share)),
                        **STORED_TUPLES,
                    },
                )
            ],
            "load": [
                {
                    "label": LABEL,
                    "arrival": "replay",
                    "send_lag_ms": SEND_LAG_MS,
                    "speed_up": 1.0,
                    "tick_ns": 1e6,
                    "warm_up_s": warm_up_s,
                    # The last trade may be shortly before the day's end.
                    "window_s": seconds * 0.98 - warm_up_s,
                }
            ],
        }
    )  # fmt: skip


def _outcome(options: Options, runs: Runs) -> Outcome:
    share = scale(options)
    trials = timelines(runs, [LABEL]).get(LABEL, [])
    peak, in_peak, of_day = (
        facts().one(figure="13", quantity=q)
        for q in ("peak", "mean in the peak", "mean of the day")
    )
    views = [_zoom(timeline, share) for timeline in trials]
    # The figure shows an operator that grows and shrinks with the day.
    elastic = (
        sweep_points("verified trials with a series", len(trials), 1),
        several_workers(options),
        reconfigurations(trials),
    )
    posed = (
        asked("trades in the peak second", peak)
        .of(HEDGES)
        .given(*elastic)
        .near(
            each(trials, lambda timeline: _peak_eps(timeline) / 2, Level),
            peak.low,
            peak.high,
            0.1,
            "t/s",
        ),
        PublishedClaim(
            text="share of the time with the fewest instances",
            published="most of the time",
            source="section 8.6",
        )
        .of(HEDGES)
        .given(*elastic)
        .at_least(each(trials, _at_fewest, Level), 0.5, kind=SHAPE),
        asked("mean latency around the peak, at most", in_peak)
        .of(HEDGES)
        .given(*elastic)
        .at_most(
            each(views, lambda timeline: mean(timeline.latency_ms), cell_median),
            in_peak.high * 1.5,
            "ms",
        ),
        asked("mean latency of the day, at most", of_day)
        .of(HEDGES)
        .given(*elastic)
        .at_most(
            each(trials, lambda timeline: mean(timeline.latency_ms), cell_median),
            of_day.high * 1.5,
            "ms",
        ),
    )
    figure_notes = notes(
        options,
        share,
        runs,
        f"Hedges among generated trades, fed twice; window {window_ms(share, WS_MS) / 1000:g} s; "
        "rates are the paper's. The published data is not public.",
        "Latency: medians of 100 ms, averaged; from due times.",
        LAG_NOTE,
    )
    columns: list[list[Panel]] = []
    if trials:
        day = Mark(name="mean of the day", low=of_day.low, high=of_day.high)
        near = Mark(name="mean around the peak", low=in_peak.low, high=in_peak.high, colour=1)
        columns = [
            panels(trials[0], title="the day", per_instance=None, marks_ms=[day]),
            panels(views[0], title="around the peak", per_instance=None, marks_ms=[near]),
        ]
        columns[0][0] = _with_peak(columns[0][0], peak.low)
    return Outcome(
        claims=judge(posed),
        notes=figure_notes,
        numbers={
            "trials": [
                {
                    "peak_eps": _peak_eps(timeline),
                    "mean_latency_ms": mean(timeline.latency_ms),
                    "seconds_above_peak_mean": longest_above(timeline.latency_ms, in_peak.high),
                    "reconfigurations": len(timeline.changes),
                }
                for timeline in trials
            ]
        },
        draw=lambda: draw(
            Layout(
                title="STRETCH, figure 13: a trading day",
                rows=side_by_side(columns),
                notes=figure_notes,
                height_in=1.1,
                width_in=3.8,
            )
        ),
    )


def _with_peak(panel: Panel, peak_eps: float) -> Panel:
    # The load feeds both sides of the self-join: twice the rate of the day's trades.
    return Panel(
        title=panel.title,
        y_label=panel.y_label,
        lines=panel.lines,
        marks=[Mark(name="peak, fed twice", low=2 * peak_eps, high=2 * peak_eps)],
        shades=panel.shades,
    )


def _second_means(timeline: ElasticTimeline) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    rows = len(timeline.offered_eps) // 10 * 10
    filled = np.nan_to_num(timeline.offered_eps[:rows])
    means: np.ndarray[tuple[int], np.dtype[np.float64]] = filled.reshape(-1, 10).mean(axis=1)
    return means


def _at_fewest(timeline: ElasticTimeline) -> float | None:
    """Return the share of the time with the fewest instances."""
    if np.isnan(timeline.instances).all():
        return None
    return float(np.nanmean(timeline.instances == np.nanmin(timeline.instances)))


def _peak_eps(timeline: ElasticTimeline) -> float:
    return float(_second_means(timeline).max(initial=0.0))


def _zoom(timeline: ElasticTimeline, share: float) -> ElasticTimeline:
    means = _second_means(timeline)
    at_s = float(timeline.t_s[int(means.argmax()) * 10]) if len(means) else 0.0
    half_s = max(_ZOOM_S * share / 2, 5.0)
    return part(timeline, max(0.0, at_s - half_s), at_s + half_s)


FIGURE = Figure(
    id="stretch:13",
    title="a trading day",
    shows="rate, instances, throughput and latency over the day, and around its peak",
    needs=("nyse_hedge", VSN),
    stages=(FigureStage(name="day", about="trades as they come", plan=_plan),),
    scale=scale,
    outcome=_outcome,
)
