"""Plans and reads the experiment of table IV and figures 9 and 10: a step of the rate.

The first stage measures each number of instances at full speed. The second stage offers each number
70 % of its rate, then 120 % or 30 %. The threshold controller of section 8.4 responds to this step.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from statistics import median
from typing import Any, TypeVar

from streamlab.json_value import JsonValue
from streamlab.lab.errors import FigureError
from streamlab.lab.figures.experiment import run_table
from streamlab.lab.figures.figure import Figure, FigureStage, Outcome, Plan, Runs
from streamlab.lab.figures.measurements import (
    Value,
    comparison_rate,
    comparisons_per_s,
    per_row,
    series,
    troubles,
)
from streamlab.lab.figures.offered_stages import LAG_NOTE, SEND_LAG_MS
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import Need, every
from streamlab.lab.figures.stretch.paper_setup import (
    ADHOC,
    VSN,
    facts,
    notes,
    paper_engine,
)
from streamlab.lab.figures.timeline import ElasticTimeline, mean, read_timeline
from streamlab.reports.figures.paper import Point
from streamlab.results.query import by_cell, group_by
from streamlab.results.schema import VERIFIED, TrialRow

Number = TypeVar("Number", int, float)
WS_MS = 300_000
"""The paper's window, at scale 1."""
SIDE_EPS = 1000
"""Least event-time rate of each side of scale_join in the first stage."""
WINDOW_TUPLES = 30_000
"""Least window population of each side in the first stage. In smaller windows the fixed cost per tuple
outweighs its comparisons, and the stage would underestimate the rate with real windows."""
SETTLED_S = 360.0
"""The rate steps after 6 minutes, when the window is full and the system stable."""
START, UP, DOWN = 0.7, 1.2, 0.3
"""Offered rate before the step, and after a step up or down, as shares of the instances' highest rate."""
PROVISION, DECOMMISSION = "provision", "decommission"
DIRECTIONS = (PROVISION, DECOMMISSION)
FACTORS = {PROVISION: UP / START, DECOMMISSION: DOWN / START}
STATIC = "static"
_CONTROL_FROM = 0.9
"""The controller starts to act after this share of the time before the step. Earlier, while the window
fills, the controller would see too little work."""
_STEPPED = 0.5
"""Least share of the planned change of the rate that counts as a step."""
_WARM_UP = 0.8
"""Share of the time before the step that is warm-up; the trial measures the rest."""


def scale(options: Options) -> float:
    """Return the share of the paper's lengths."""
    return options.scaled(0.05, 0.015)


def window_ms(share: float, ws_ms: int = WS_MS) -> int:
    """Return the window for a scale, in ms of event time."""
    return max(100, round(ws_ms * share))


def rates_tree(options: Options, ws_ms: int, instances: tuple[int, ...]) -> Plan:
    """Return the stage that measures each number of instances at full speed with full windows."""
    side_eps = max(SIDE_EPS, -(-WINDOW_TUPLES * 1000 // ws_ms))
    return Plan(
        tree={
            "run": run_table(options, timeout_s=900, repetitions=3),
            "workload": [
                join_workload(max(1000, 4 * 2 * side_eps * ws_ms // 1000), side_eps, ws_ms)
            ],
            "engine": [paper_engine("operator 10", options, workers=list(instances))],
        }
    )


def join_workload(events: int, left_eps: int, ws_ms: int, **fields: Any) -> dict[str, JsonValue]:
    """Return the `[[workload]]` table of ScaleJoin on inputs of equal rates."""
    return {
        "name": "scale_join",
        "events": events,
        "params": {"left_eps": left_eps, "right_eps": left_eps},
        "query": {"ws_ms": ws_ms},
        **fields,
    }


def coherent_eps(ws_ms: int) -> Value:
    """Return a function that computes the input rate R at which event time keeps up with the clock.

    Each side gets R/2 tuples/s, so its window has R/2 x WS tuples. Every tuple is compared with the
    other side's window: R^2 x WS / 2 comparisons per second. The measured comparisons give R.
    """

    def rate(row: TrialRow) -> float | None:
        per_s = comparison_rate(row)
        return None if per_s is None else math.sqrt(2.0 * per_s / (ws_ms / 1000))

    return lambda cell: per_row(cell, rate)


def highest_eps(runs: Runs, ws_ms: int) -> dict[int, float]:
    """Return the coherent rate (`coherent_eps`) of each number of instances.

    Raises:
        FigureError: the run has no such rate.
    """
    rates = series(runs[0], "scale_join", VSN, coherent_eps(ws_ms))
    if not rates.by_workers:
        by_instances = series(runs[0], "scale_join", VSN, comparisons_per_s).by_workers
        reason = "; ".join(troubles(runs)) or (
            "" if by_instances else "the engine counted no comparisons"
        )
        raise FigureError(f"{runs[0].path}: no number of instances has a rate: {reason}")
    return {n: max(s.median for s in spreads) for n, spreads in rates.by_workers.items()}


def horizons(share: float) -> dict[str, float]:
    """Return the model controller's times for a scale: one second at the paper's lengths.

    The times are at least two periods of the controller, the fewest that show a rate.
    """
    length_s = max(0.2, share)
    return dict.fromkeys(("ahead_s", "drain_s", "rate_s", "hold_s"), length_s)


def controller(kind: str, options: Options, **fields: Any) -> dict[str, JsonValue]:
    """Return the engine options of an operator that scales up to the highest requested number of instances."""
    most = max(options.instances)
    return {
        "max_instances": most,
        "controller": {"kind": kind, "min": 1, "max": most, "period_ms": 100, **fields},
    }


def shown_start(options: Options, direction: str, starts: list[int]) -> int | None:
    """Return the start that figure 10 shows: the paper's 18 of 36 cores, or about half of fewer cores."""
    if not starts:
        return None
    start = max(1, min(options.cores // 2, 18))
    return min(starts, key=lambda n: (abs(n - start), n))


def starting_instances(options: Options) -> tuple[int, ...]:
    """Return the chosen numbers of instances, else the default numbers and table IV's starts within the cores."""
    if options.workers is not None:
        return options.instances
    published = {int(f.x) for d in DIRECTIONS for f in facts().of(figure="T4", series=d)}
    return tuple(sorted({*options.instances, *(n for n in published if n <= options.cores)}))


def _plan_rates(options: Options, runs: Runs) -> Plan:
    return rates_tree(options, window_ms(scale(options)), starting_instances(options))


def _plan_steps(options: Options, runs: Runs) -> Plan:
    share = scale(options)
    ws_ms = window_ms(share)
    rates = highest_eps(runs, ws_ms)
    starts = {
        PROVISION: [n for n in rates if n < max(options.instances)],
        DECOMMISSION: [n for n in rates if n > 1],
    }
    settled_s = SETTLED_S * share
    workloads: list[JsonValue] = []
    engines: list[JsonValue] = []
    loads: list[JsonValue] = []
    only: list[str] = []
    for n in sorted({n for counts in starts.values() for n in counts}):
        side = max(1, round(rates[n] / 2))
        length_s = settled_s * START + settled_s * UP
        key = f"scale_join@n{n}"
        events = round(2 * side * length_s * 1.02) + 1000
        workloads.append(join_workload(events, side, ws_ms, label=f"n{n}"))
        from_s = float(f"{settled_s * _CONTROL_FROM:.4g}")
        stepping = controller("thresholds", options, removal="table", from_s=from_s)
        engines.append(
            paper_engine("operator 10", options, workers=[n], workloads=[key], options=stepping)
        )
        for direction, numbers in starts.items():
            if n not in numbers:
                continue
            label = f"{direction}-{n}"
            loads.append(
                {
                    "label": label,
                    "arrival": "step",
                    "send_lag_ms": SEND_LAG_MS,
                    "rate_eps": float(f"{2 * side * START:.6g}"),
                    "at_s": settled_s,
                    "factor": FACTORS[direction],
                    "warm_up_s": settled_s * _WARM_UP,
                    "window_s": settled_s * (2 - _WARM_UP),
                    "workloads": [key],
                }
            )
            only.append(f"{key}/{VSN}/w{n}/b*/{label}")
            if n == shown_start(options, direction, numbers):
                only.append(f"{key}/{ADHOC}/w{n}/b*/{STATIC}/{label}")
    if not loads:
        raise FigureError(
            f"--workers {','.join(map(str, options.instances))}: with one number of instances none "
            "can be added or removed; use --workers 1,2"
        )
    shown = {shown_start(options, d, counts) for d, counts in starts.items()} - {None}
    engines += [
        paper_engine(
            "ScaleJoin", options, workers=[n], workloads=[f"scale_join@n{n}"], label=STATIC
        )
        for n in sorted(rates.keys() & shown)
    ]
    return Plan(
        tree={
            "run": run_table(options, timeout_s=1800),
            "workload": workloads,
            "engine": engines,
            "load": loads,
        },
        only=tuple(only),
    )


STAGES = (
    FigureStage(
        name="rates", about="the highest rate of each number of instances", plan=_plan_rates
    ),
    FigureStage(name="steps", about="70 % of it, then 120 % or 30 %", plan=_plan_steps),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One trial with one step of the rate.

    Attributes:
        direction: PROVISION or DECOMMISSION.
        start: number of instances at the start.
        at_s: time at which the rate steps.
        elastic: whether a controller could change the number of instances.
        timeline: the trial over time.
        after: number of instances after the first reconfiguration that follows the step; None without one.
        duration_ms: duration of that reconfiguration; None without one.
    """

    direction: str
    start: int
    at_s: float
    elastic: bool
    timeline: ElasticTimeline
    after: int | None
    duration_ms: float | None

    @property
    def has_stepped(self) -> bool:
        """Whether the offered rate stepped by at least `_STEPPED` of the planned change."""
        before, after = (
            mean(self.timeline.offered_eps, self.timeline.between(begin, end))
            for begin, end in (
                (self.at_s * _CONTROL_FROM, self.at_s),
                (self.at_s, self.at_s * (2 - _WARM_UP)),
            )
        )
        if not before or after is None:
            return False
        step = FACTORS[self.direction] - 1
        return (after / before - 1) / step >= _STEPPED


def steps(options: Options, runs: Runs) -> tuple[Step, ...]:
    """Return all trials with a step that have verified answers and a series."""
    at_s = SETTLED_S * scale(options)
    trials = []
    for cell in by_cell(runs[1].rows):
        label = cell.rows[0].load_label or ""
        direction = label.partition("-")[0]
        if cell.status not in VERIFIED or direction not in FACTORS:
            continue
        for row in cell.rows:
            timeline = read_timeline(runs[1], row)
            if timeline is None:
                continue
            # Changes before the step belong to the controller's start, not to the experiment.
            changes_after = [
                c for c in timeline.changes if c.at_ns >= at_s * 1e9 and c.before != c.after
            ]
            trials.append(
                Step(
                    direction=direction,
                    start=cell.workers,
                    at_s=at_s,
                    elastic=f"{cell.engine}/{cell.variant}" == VSN,
                    timeline=timeline,
                    after=changes_after[0].after if changes_after else None,
                    duration_ms=changes_after[0].duration_ns * 1e-6 if changes_after else None,
                )
            )
    return tuple(trials)


def expected_after(direction: str, start: int) -> int:
    """Return the number of instances after the step by table IV's rule.

    Provisioning gives the smallest n for which 70 % of n instances' capacity reaches 120 % of the capacity
    of `start` instances. Decommissioning gives the largest n, at least one, for which 70 % of n instances'
    capacity is at most 30 % of the capacity of `start` instances.
    """
    ratio = start * (UP if direction == PROVISION else DOWN) / START
    rounded = math.ceil(ratio - 1e-9) if direction == PROVISION else math.floor(ratio + 1e-9)
    return max(1, rounded)


def step_figure(
    number: str, title: str, shows: str, outcome: Callable[[Options, Runs], Outcome]
) -> Figure:
    """Return a figure of this experiment."""
    return Figure(
        id=f"stretch:{number}",
        title=title,
        shows=shows,
        needs=("scale_join", VSN, ADHOC),
        stages=STAGES,
        scale=scale,
        outcome=outcome,
    )


def step_notes(options: Options, runs: Runs, *extra: str) -> tuple[str, ...]:
    """Return the notes of the figures with a step."""
    ws_s = window_ms(scale(options)) / 1000
    return notes(
        options,
        scale(options),
        runs,
        f"ScaleJoin, window {ws_s:g} s; at the start 70 % of the instances' highest rate, then "
        "120 % or 30 %; the window's population is constant, so work is linear in the rate.",
        LAG_NOTE,
        *extra,
    )


def by_start(values: Iterable[tuple[int, Number | None]]) -> dict[int, list[Number]]:
    """Group values by number of instances at the start, ascending; omits None."""
    pairs = sorted(((n, value) for n, value in values if value is not None), key=itemgetter(0))
    return {n: [value for _, value in group] for n, group in group_by(pairs, itemgetter(0)).items()}


def start_points(values: Mapping[int, Sequence[float]], options: Options) -> list[Point]:
    """Return values by number of instances at the start as points: median, smallest and largest."""
    return [Point(n, median(v), min(v), max(v), n > options.cores) for n, v in values.items()]


def rate_steps(trials: Sequence[Step]) -> Need:
    """Return the need for trials whose offered rate stepped as planned."""
    return every("trials whose offered rate stepped", trials, lambda step: step.has_stepped)


def step_reconfigurations(trials: Sequence[Step]) -> Need:
    """Return the need for trials whose number of instances changed after the step."""
    quantity = "trials with a reconfiguration after the step"
    return every(quantity, trials, lambda step: step.duration_ms is not None)
