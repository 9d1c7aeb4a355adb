"""Selects and describes trials with a single reconfiguration, for table IV and figures 9 and 10."""

from collections.abc import Mapping, Sequence
from statistics import median

from streamlab.lab.figures.figure import Runs
from streamlab.lab.figures.offered_stages import LAG_NOTE
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import Need
from streamlab.lab.figures.stretch.shared import VSN, notes
from streamlab.lab.figures.stretch.steps import (
    ADHOC,
    DECOMMISSION,
    PROVISION,
    Step,
    scale,
    steps,
    window_ms,
)
from streamlab.reports.figures.paper import Point

BOTH = (PROVISION, DECOMMISSION)
COLOURS = {PROVISION: 0, DECOMMISSION: 1}
NEEDS = ("scale_join", VSN, ADHOC)


def step_notes(options: Options, runs: Runs, *more: str) -> tuple[str, ...]:
    """Return the notes of the figures with a step."""
    ws_s = window_ms(scale(options)) / 1000
    return notes(
        options,
        scale(options),
        runs,
        f"ScaleJoin, window {ws_s:g} s; at the start 70 % of the instances' highest rate, then "
        "120 % or 30 %; the window's population is constant, so work is linear in the rate.",
        LAG_NOTE,
        *more,
    )


def elastic(options: Options, runs: Runs) -> tuple[Step, ...]:
    """Return the verified trials of the elastic operator."""
    return tuple(step for step in steps(options, runs) if step.elastic)


def by_start(values: Mapping[int, Sequence[float]], options: Options) -> list[Point]:
    """Return values by number of instances at the start as points: median, smallest and largest."""
    return [Point(n, median(v), min(v), max(v), n > options.cores) for n, v in values.items()]


def rate_steps(trials: Sequence[Step]) -> Need:
    """Return the need for trials whose offered rate stepped as planned."""
    return Need(
        what="trials whose offered rate stepped",
        count=sum(step.stepped for step in trials),
        least=max(1, len(trials)),
    )


def step_reconfigurations(trials: Sequence[Step]) -> Need:
    """Return the need for trials whose number of instances changed after the step."""
    return Need(
        what="trials with a reconfiguration after the step",
        count=sum(step.duration_ms is not None for step in trials),
        least=max(1, len(trials)),
    )
