"""Chooses trials to draw over time, and draws them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamlab.reports.figures.timeline import draw_timeline
from streamlab.reports.page.inline_svg import engine_variable
from streamlab.reports.palette import Colour
from streamlab.reports.trial_series import read_timeline
from streamlab.results.errors import ResultsError
from streamlab.results.schema import OK, VERIFIED, TrialRow
from streamlab.results.store import Run

MAX = 40
"""Maximum number of timelines in a page: each takes some 10 kB, and a long search has a hundred trials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnTrial:
    """A drawn trial; `name` has the cell and the number of the trial."""

    name: str
    status: str
    reason: str
    svg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timelines:
    """The drawings, with counts of omitted trials.

    Attributes:
        drawn: drawn trials, in order of execution.
        recorded: number of trials with a series.
        short: number of chosen trials whose series is too short.
        unreadable: missing or damaged series files of chosen trials.
        left_out: number of chosen trials beyond the limit.
    """

    drawn: Sequence[DrawnTrial]
    recorded: int
    short: int
    unreadable: Sequence[str]
    left_out: int


def timelines(run: Run, colours: Mapping[str, Colour]) -> Timelines:
    """Draw the first trial of each cell, then all trials that are not ok, up to the limit."""
    recorded = [row for row in run.rows if row.series]
    first = {row.cell: row for row in reversed(recorded)}
    chosen = [row for row in recorded if row is first[row.cell]]
    chosen += [row for row in recorded if row.status != OK and row is not first[row.cell]]
    drawn: list[tuple[int, DrawnTrial]] = []
    unreadable: list[str] = []
    short = left_out = 0
    for row in chosen:
        if len(drawn) == MAX:
            left_out += 1
            continue
        try:
            drawing = _draw_trial(run, row, colours)
        except ResultsError:
            unreadable.append(str(row.series))
            continue
        if drawing is None:
            short += 1
        else:
            drawn.append((row.order_index, drawing))
    in_order = sorted(drawn, key=lambda pair: pair[0])
    return Timelines(
        drawn=[drawing for _, drawing in in_order],
        recorded=len(recorded),
        short=short,
        unreadable=unreadable,
        left_out=left_out,
    )


def _draw_trial(run: Run, row: TrialRow, colours: Mapping[str, Colour]) -> DrawnTrial | None:
    timeline = read_timeline(run.path, str(row.series))
    if timeline is None:
        return None
    name = _name_trial(row)
    svg = draw_timeline(
        timeline,
        colour=f"var(--{engine_variable(row.engine, colours)})",
        alt=f"{name} over time: rates, backlog, latency, CPU, memory and power where recorded",
        scaled=row.status in VERIFIED,
        offered=row.load is not None,
    )
    return DrawnTrial(name=name, status=row.status, reason=row.reason or "", svg=svg)


def _name_trial(row: TrialRow) -> str:
    if row.probe is None:
        return f"{row.cell} #{row.repetition}"
    return f"{row.cell}, probe {row.probe} ({row.purpose}), vote {row.vote}"
