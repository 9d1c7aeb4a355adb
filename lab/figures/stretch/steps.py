"""The experiment of table IV and figures 9 and 10: one step of the rate, one reconfiguration.

First each number of instances is measured as fast as it can. Then it starts at 70 % of its own
rate, which steps to 120 % or to 30 %, under the threshold controller of section 8.4.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamlab.lab.errors import FigureError
from streamlab.lab.figures.experiment import engine, run_table
from streamlab.lab.figures.figure import FigureStage, Plan, Runs
from streamlab.lab.figures.measurements import comparisons_per_s, per_row, series, troubles
from streamlab.lab.figures.offered_stages import SEND_LAG_MS
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.stretch.shared import DOWNSTREAM, VSN
from streamlab.lab.figures.stretch.systems import STORED_TUPLES, TUPLE_BY_TUPLE
from streamlab.lab.figures.timeline import ElasticTimeline, mean, read_timeline
from streamlab.results.query import CellSummary, Spread, by_cell
from streamlab.results.schema import VERIFIED
from streamlab.results.store import Row

ADHOC = "multicore/adhoc"
WS_MS = 300_000
SIDE_EPS = 1000
"""Event-time rate of each side of scale_join where the rate itself is looked for, at least."""
WINDOW_TUPLES = 30_000
"""Of each side, at least: in shorter windows a tuple itself weighs more than its comparisons, and
what is found would be less than what the windows of the rate that is found allow."""
SETTLED_S = 360.0
"""After 6 minutes, when the window is full and the system is stable, the rate steps."""
START, UP, DOWN = 0.7, 1.2, 0.3
PROVISION, DECOMMISSION = "provision", "decommission"
FACTORS = {PROVISION: UP / START, DECOMMISSION: DOWN / START}
STATIC = "static"
_LOOKS_FROM = 0.9
"""Of the time before the step: while the window fills, the controller would see too little work."""
_STEPPED = 0.5
"""Least share of the planned change of the rate that counts as a step."""
_WARM_UP = 0.8
"""Of the time before the step; what is left of it is in the window, to be seen."""


def scale(options: Options) -> float:
    """Return the share of the paper's lengths."""
    return options.scaled(0.05, 0.015)


def window_ms(share: float, ws_ms: int = WS_MS) -> int:
    """Return the window for a scale, in ms of event time."""
    return max(100, round(ws_ms * share))


def rates_tree(options: Options, ws_ms: int, instances: tuple[int, ...]) -> Plan:
    """Return the stage that finds what each number of instances can do with full windows."""
    side_eps = max(SIDE_EPS, -(-WINDOW_TUPLES * 1000 // ws_ms))
    return Plan(
        tree={
            "run": run_table(options, timeout_s=900, repetitions=3),
            "workload": [
                {
                    "name": "scale_join",
                    "events": max(1000, 4 * 2 * side_eps * ws_ms // 1000),
                    "params": {"left_eps": side_eps, "right_eps": side_eps},
                    "query": {"ws_ms": ws_ms},
                }
            ],
            "engine": [
                engine(
                    VSN, options, workers=list(instances), options={**DOWNSTREAM, **STORED_TUPLES}
                )
            ],
        }
    )


def coherent_eps(ws_ms: int) -> Callable[[CellSummary], Spread | None]:
    """Take the input rate at which event time runs as fast as the clock.

    At R tuples/s in all, half on each side, the other side's window holds R/2 x WS tuples, so that
    R^2 x WS / 2 comparisons a second are made; R follows from those that were.
    """

    def value(cell: CellSummary) -> Spread | None:
        def rate(row: Row) -> float | None:
            if row["comparisons"] is None or not row["duration_s"]:
                return None
            return math.sqrt(2.0 * row["comparisons"] / row["duration_s"] / (ws_ms / 1000))

        return per_row(cell, rate)

    return value


def highest_eps(runs: Runs, ws_ms: int) -> dict[int, float]:
    """Return the coherent rate of each number of instances.

    Raises:
        FigureError: the run has none.
    """
    found = series(runs[0], "scale_join", VSN, coherent_eps(ws_ms))
    if not found.by_workers:
        counted = series(runs[0], "scale_join", VSN, comparisons_per_s).by_workers
        why = "; ".join(troubles(runs)) or ("" if counted else "comparisons were not counted")
        raise FigureError(f"{runs[0].path}: no number of instances has a rate: {why}")
    return {n: max(s.median for s in spreads) for n, spreads in found.by_workers.items()}


def horizons(share: float) -> dict[str, float]:
    """Return the model controller's times, a second in the paper's lengths, for a scale.

    Not below two looks, within which a rate is no rate.
    """
    length_s = max(0.2, share)
    return dict.fromkeys(("ahead_s", "drain_s", "rate_s", "hold_s"), length_s)


def controller(kind: str, options: Options, **more: Any) -> dict[str, Any]:
    """Return the engine options of an operator that scales up to the most that were asked for."""
    most = max(options.instances)
    return {
        **DOWNSTREAM,
        "max_instances": most,
        "controller": {"kind": kind, "min": 1, "max": most, "period_ms": 100} | more,
    }


def _starts(options: Options, found: dict[int, float]) -> dict[str, list[int]]:
    most = max(options.instances)
    return {
        PROVISION: [n for n in found if n < most],
        DECOMMISSION: [n for n in found if n > 1],
    }


def shown_start(options: Options, direction: str, found: list[int]) -> int | None:
    """Return the start of figure 10: about half of the machine, 18 of 36 cores in the paper."""
    if not found:
        return None
    half = max(1, options.cores // 2)
    return min(found, key=lambda n: (abs(n - half), n))


def _rates(options: Options, runs: Runs) -> Plan:
    return rates_tree(options, window_ms(scale(options)), options.instances)


def _steps(options: Options, runs: Runs) -> Plan:
    share = scale(options)
    ws_ms = window_ms(share)
    found = highest_eps(runs, ws_ms)
    starts = _starts(options, found)
    settled_s = SETTLED_S * share
    workloads, loads, engines, only = [], [], [], []
    for n in sorted({n for all_ in starts.values() for n in all_}):
        side = max(1, round(found[n] / 2))
        length_s = settled_s * START + settled_s * UP
        key = f"scale_join@n{n}"
        workloads.append(
            {
                "name": "scale_join",
                "label": f"n{n}",
                "events": round(2 * side * length_s * 1.02) + 1000,
                "params": {"left_eps": side, "right_eps": side},
                "query": {"ws_ms": ws_ms},
            }
        )
        from_s = float(f"{settled_s * _LOOKS_FROM:.4g}")
        stepping = controller("thresholds", options, removal="table", from_s=from_s)
        engines.append(
            engine(
                VSN, options, workers=[n], workloads=[key], options={**stepping, **STORED_TUPLES}
            )
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
        raise FigureError("one instance can neither be more nor fewer; use --workers 1,2")
    shown = {shown_start(options, d, all_) for d, all_ in starts.items()} - {None}
    engines += [
        engine(
            ADHOC,
            options,
            workers=[n],
            workloads=[f"scale_join@n{n}"],
            options=dict(TUPLE_BY_TUPLE),
            label=STATIC,
        )
        for n in sorted(found.keys() & shown)
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
    FigureStage(name="rates", about="what each number of instances can do", plan=_rates),
    FigureStage(name="steps", about="70 % of it, then 120 % or 30 %", plan=_steps),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One trial with one step of the rate.

    Attributes:
        direction: PROVISION or DECOMMISSION.
        start: instances at first.
        at_s: when the rate stepped.
        elastic: whether a controller could change the number of instances.
        timeline: what happened.
        after: instances after the first reconfiguration past the step; None where none came.
        duration_ms: how long that took.
    """

    direction: str
    start: int
    at_s: float
    elastic: bool
    timeline: ElasticTimeline
    after: int | None
    duration_ms: float | None

    @property
    def stepped(self) -> bool:
        """Whether the offered rate stepped, by at least `_STEPPED` of what was planned."""
        before, after = (
            mean(self.timeline.offered_eps, self.timeline.between(begin, end))
            for begin, end in (
                (self.at_s * _LOOKS_FROM, self.at_s),
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
    found = []
    for cell in by_cell(runs[1].rows):
        label = cell.rows[0]["load_label"] or ""
        direction = label.partition("-")[0]
        if cell.status not in VERIFIED or direction not in FACTORS:
            continue
        for row in cell.rows:
            timeline = read_timeline(runs[1], row)
            if timeline is None:
                continue
            # What comes before the step is the controller finding its feet, not the experiment.
            later = [c for c in timeline.changes if c.at_ns >= at_s * 1e9 and c.before != c.after]
            found.append(
                Step(
                    direction=direction,
                    start=cell.workers,
                    at_s=at_s,
                    elastic=f"{cell.engine}/{cell.variant}" == VSN,
                    timeline=timeline,
                    after=later[0].after if later else None,
                    duration_ms=later[0].duration_ns * 1e-6 if later else None,
                )
            )
    return tuple(found)


def expected_after(direction: str, start: int) -> int:
    """Return the number of instances that table IV's rule gives.

    Provisioning: the fewest n for which 120 % of what `start` can do is below 70 % of n.
    Decommissioning: the most n that 30 % of it still loads to 70 %, at least one.
    """
    ratio = start * (UP if direction == PROVISION else DOWN) / START
    rounded = math.ceil(ratio - 1e-9) if direction == PROVISION else math.floor(ratio + 1e-9)
    return max(1, rounded)
