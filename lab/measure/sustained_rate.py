"""Judges whether a trial sustained its offered rate, by the criteria of docs/method.md.

The verdicts, in this order:

1. `invalid`: the generator did not keep the rate, whatever the engine did.
2. `unsustained`: the engine did not keep up.
3. `unsteady`: the trial reached no steady state, or lacks numbers, so it does not show that the engine kept up.

This module does not check the answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from streamlab.engines.protocol import OfferedLoad, Progress, Sent
from streamlab.lab.measure.latency import Objective, Percentiles, nearest_rank
from streamlab.lab.measure.load_window import Window, window
from streamlab.lab.measure.steady import (
    TOO_SHORT,
    UNSTEADY,
    SteadyCriteria,
    Trend,
    steady_state,
    trend,
)

OK = "ok"
INVALID = "invalid"
UNSUSTAINED = "unsustained"
# Statuses of results/schema.py; `unsteady` is also a verdict on a series.


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Criteria of a sustained rate; sources and error rates are in docs/method.md.

    Attributes:
        least_emitted_share: smallest share of due events handed over in time, in a valid trial.
        most_send_lag_p99_ns: largest 99th percentile of the generator's lag, in a valid trial.
        most_backlog_share: largest slope of the backlog, as a share of the rate.
        most_backlog_share_long: the limit for windows of at least `long_window_s`, in which 1 % would allow
            3 s of backlog.
        most_latency_growth: largest proven growth of the latency over the window, as a share of its median.
        least_latency_growth: growth below this share of the window's length is ignored. An engine that falls
            behind by 0.01 % of the rate reaches this growth.
        confidence: confidence of the slopes' two-sided intervals.
        most_drain_s: longest time that the engine may work after the end of the load.
        shortest_window_s, shortest_warm_up_s: below these the verdict is marked as quick.
        steady: criteria of a steady throughput.
    """

    least_emitted_share: float = 0.999
    most_send_lag_p99_ns: int = 1_000_000
    most_backlog_share: float = 0.01
    most_backlog_share_long: float = 0.001
    most_latency_growth: float = 0.1
    least_latency_growth: float = 1e-4
    confidence: float = 0.95
    most_drain_s: float = 5.0
    shortest_window_s: float = 60.0
    shortest_warm_up_s: float = 10.0
    long_window_s: float = 300.0
    steady: SteadyCriteria = field(default_factory=SteadyCriteria)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on one trial.

    Attributes:
        sustained: whether every criterion holds; None for an invalid trial.
        reasons: failed criteria with value and bound, then limits of the verdict (`quick: ...`).
    """

    status: str
    sustained: bool | None
    reasons: tuple[str, ...]
    columns: Mapping[str, object]


def judge(
    progress: Progress | None,
    *,
    load: OfferedLoad,
    offered_events: int,
    sent: Sent | None,
    latency: Percentiles | None,
    duration_ns: int,
    objective: Objective | None = None,
    criteria: Criteria | None = None,
) -> Judgement:
    """Judge one trial with an offered load.

    Without progress, backlog and steadiness are unknown, and the rate does not count as sustained.
    Without a report of the source (`sent`), the trial is invalid. `duration_ns` counts from the
    start of the load until the engine finished.
    """
    rules = criteria or Criteria()
    generator_failures = _generator_failures(sent, offered_events, rules)
    columns: dict[str, object] = {}
    engine_failures: list[str] = []
    unknown: list[str] = []
    if progress is None:
        unknown.append("the engine keeps no progress: backlog and steadiness are not known")
    else:
        points = window(progress, load)
        window_s = (load.end_ns - load.warm_up_ns) / 1e9
        rate_eps = offered_events / (load.end_ns / 1e9) if load.end_ns > 0 else 0.0
        steadiness = steady_state(points.kept_up, noise_sd=points.noise_sd, criteria=rules.steady)
        columns |= {"steady": steadiness.verdict, "steady_reason": steadiness.reason}
        if steadiness.verdict == UNSTEADY:
            unknown.append(f"no steady throughput: {steadiness.reason}")
        engine_failures += _backlog_failures(points, rate_eps, window_s, rules, columns)
        engine_failures += _latency_failures(points, window_s, rules, columns)
    drain_s = max(0, duration_ns - load.end_ns) / 1e9
    if drain_s > rules.most_drain_s:
        engine_failures.append(f"drain {drain_s:.2f} s, above {rules.most_drain_s:g} s")
    holds = None if objective is None or latency is None else objective.holds(latency)
    if objective is not None and not holds:
        (unknown if holds is None else engine_failures).append(
            _objective_failure(objective, latency)
        )
    status = (
        INVALID
        if generator_failures
        else UNSUSTAINED
        if engine_failures
        else UNSTEADY
        if unknown
        else OK
    )
    is_sustained = None if generator_failures else not (engine_failures or unknown)
    reasons = (*generator_failures, *engine_failures, *unknown, *_limits(load, columns, rules))
    columns |= {"sustained": is_sustained, "sustained_reason": "; ".join(reasons) or None}
    return Judgement(status=status, sustained=is_sustained, reasons=reasons, columns=columns)


def _generator_failures(sent: Sent | None, offered: int, rules: Criteria) -> list[str]:
    if sent is None:
        return ["the engine does not report what its source sent"]
    failures = []
    share = sent.events / offered if offered else 0.0
    if share < rules.least_emitted_share:
        failures.append(
            f"generator: emitted {share:.2%} of the due events, below {rules.least_emitted_share:.1%}"
        )
    lag_ns = nearest_rank(sent.lag, 990)
    if lag_ns is not None and lag_ns > rules.most_send_lag_p99_ns:
        failures.append(
            f"generator: send lag p99 {lag_ns / 1e6:.3g} ms, above "
            f"{rules.most_send_lag_p99_ns / 1e6:g} ms"
        )
    return failures


def _backlog_failures(
    points: Window, rate_eps: float, window_s: float, rules: Criteria, columns: dict[str, object]
) -> list[str]:
    """Return a failure if the backlog grows too fast; add the backlog's columns to `columns`."""
    columns["backlog_max"] = points.backlog_max
    if len(points.backlog) < 2:
        return []
    slope_eps = trend(points.backlog, confidence=rules.confidence).slope / points.point_s
    columns["backlog_slope_eps"] = slope_eps
    is_long = window_s >= rules.long_window_s
    share = rules.most_backlog_share_long if is_long else rules.most_backlog_share
    # Growth by less than one unit may be the saw-tooth of an engine that takes events in large units.
    if slope_eps <= share * rate_eps or slope_eps * window_s <= points.unit:
        return []
    return [
        f"backlog grows by {slope_eps:.6g} events/s, {slope_eps / rate_eps:.2%} of the rate, above "
        f"{share:.1%}"
    ]


def _latency_failures(
    points: Window, window_s: float, rules: Criteria, columns: dict[str, object]
) -> list[str]:
    """Return a failure if the latency is proven to grow, from at least 20 points; add its slope to `columns`."""
    if len(points.latency_ns) < rules.steady.fewest_points:
        return []
    growth: Trend = trend(
        points.latency_ns, positions=points.latency_points, confidence=rules.confidence
    )
    count = window_s / points.point_s
    median_ns = float(np.median(points.latency_ns))
    columns["latency_slope"] = growth.high * count / median_ns if median_ns > 0 else None
    bound_ns = max(
        rules.most_latency_growth * median_ns, rules.least_latency_growth * window_s * 1e9
    )
    low_ns = growth.low * count
    if low_ns <= bound_ns:
        return []
    return [
        f"latency grows by {growth.slope * count / 1e6:.3g} ms over the window, at least "
        f"{low_ns / 1e6:.3g} ms with {rules.confidence:.0%} confidence, above "
        f"{bound_ns / 1e6:.3g} ms"
    ]


def _objective_failure(objective: Objective, latency: Percentiles | None) -> str:
    bound = f"objective {objective.percentile} <= {objective.bound_ns / 1e6:g} ms"
    if latency is None:
        return f"{bound}: the engine does not stamp its outputs"
    value_ns = objective.value_ns(latency)
    if value_ns is None:
        return f"{bound}: {latency.count:,} samples are too few to say"
    return f"{bound}: it is {value_ns / 1e6:.4g} ms"


def _limits(load: OfferedLoad, columns: Mapping[str, object], rules: Criteria) -> list[str]:
    """Return why the verdict is a quick one, or uses looser criteria."""
    quick = []
    warm_up_s, window_s = load.warm_up_ns / 1e9, (load.end_ns - load.warm_up_ns) / 1e9
    if window_s < rules.shortest_window_s:
        quick.append(f"window {window_s:.4g} s, below {rules.shortest_window_s:g} s")
    if warm_up_s < rules.shortest_warm_up_s:
        quick.append(f"warm-up {warm_up_s:.4g} s, below {rules.shortest_warm_up_s:g} s")
    if columns.get("steady") == TOO_SHORT:
        quick.append(f"steadiness not judged: {columns['steady_reason']}")
    limits = [f"quick: {', '.join(quick)}"] if quick else []
    if rules.most_send_lag_p99_ns > Criteria().most_send_lag_p99_ns:
        limits.append(f"send lag p99 up to {rules.most_send_lag_p99_ns / 1e6:g} ms was allowed")
    return limits
