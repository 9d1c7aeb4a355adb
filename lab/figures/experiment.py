"""Builds the parts that all papers' experiments share: tables of a matrix, drawings, claims and notes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from streamlab.json_value import JsonObject, JsonValue
from streamlab.lab.figures.figure import FigureStage, Outcome, Plan, Runs, Tree
from streamlab.lab.figures.judge import MeasuredClaim, PublishedClaim, judge
from streamlab.lab.figures.measurements import Series, machine, troubles
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.verdict import describe_systems
from streamlab.reports.figures.paper import (
    PANEL_HEIGHT_IN,
    PANEL_WIDTH_IN,
    Layout,
    Line,
    Panel,
    Point,
    draw,
)
from streamlab.reports.figures.shared_axes import share_axes
from streamlab.reports.published import Fact
from streamlab.results.query import Spread

BATCH = 64
"""Events per hand-over, where the paper does not hand over single events."""

_SHOWN_TROUBLES = 6
"""A drawing has room for this many notes on cells without a number."""

REPETITIONS = 8
"""Default number of fresh processes per cell.
With fewer processes, a stalled process is not trimmed (`streamlab.results.stats.estimates.TRIMMED`) and
leaves a claim undecided. The order statistics of eight processes hold for up to six claims together.
Most papers average over five runs."""


def run_table(
    options: Options, *, timeout_s: float, repetitions: int = REPETITIONS
) -> dict[str, JsonValue]:
    """Return the `[run]` table of a matrix."""
    return {"repetitions": options.repeated(repetitions), "timeout_s": timeout_s, "seed": 1}


def engine(variant: str, options: Options, /, **fields: Any) -> dict[str, JsonValue]:
    """Return an `[[engine]]` table of a matrix; `fields` may replace `workers` and `batch`."""
    name, _, engine_variant = variant.partition("/")
    return {
        "name": name,
        "variants": [engine_variant],
        "workers": list(options.instances),
        "batch": [BATCH],
    } | fields


def stage(name: str, about: str, tree: Callable[[Options], Tree]) -> FigureStage:
    """Return a stage that needs no earlier run; `tree` makes its matrix from the options."""

    def plan(options: Options, runs: Runs) -> Plan:
        return Plan(tree=tree(options))

    return FigureStage(name=name, about=about, plan=plan)


def events(options: Options, usual: int, quick: int, least: int = 500) -> int:
    """Return the number of input records per trial: `usual`, `quick`, or a share of `usual`."""
    if options.scale is not None:
        return max(least, round(usual * options.scale))
    return quick if options.quick else usual


def points(measured: Series, options: Options, factor: float = 1.0) -> tuple[Point, ...]:
    """Return a series as points: the median, lowest and highest value over repetitions and swept options."""
    return tuple(
        Point(
            workers,
            max(s.median for s in spreads) * factor,
            min(s.low for s in spreads) * factor,
            max(s.high for s in spreads) * factor,
            workers > options.cores,
        )
        for workers, spreads in measured.by_workers.items()
    )


def spot(x: float, spread: Spread | None, *, is_open: bool = False) -> tuple[Point, ...]:
    """Return a tuple with the point of a cell; empty if the cell has no value."""
    if spread is None:
        return ()
    return (Point(x, spread.median, spread.low, spread.high, is_open),)


def lines(
    series_by_name: Mapping[str, Series], options: Options, colours: Iterable[int] | None = None
) -> list[Line]:
    """Return a line for each series by name; without `colours`, lines take the palette's colours in order."""
    return [
        Line(name=name, points=points(measured, options), colour=colour)
        for (name, measured), colour in zip(
            series_by_name.items(), colours or count(), strict=False
        )
    ]


def degree_panel(
    options: Options,
    title: str,
    y_label: str,
    series_by_name: Mapping[str, Series],
    *,
    x_label: str = "workers",
    colours: Iterable[int] | None = None,
    **fields: Any,
) -> Panel:
    """Return the panel of quantities against degrees of parallelism; `fields` may replace ticks."""
    panel_lines = lines(series_by_name, options, colours)
    fields = {"ticks": options.instances} | fields
    return Panel(title=title, y_label=y_label, x_label=x_label, lines=panel_lines, **fields)


def numbers(**series_by_name: Series) -> dict[str, JsonValue]:
    """Return series as JSON values."""
    return {
        name: {str(n): list(map(as_json, spreads)) for n, spreads in measured.by_workers.items()}
        for name, measured in series_by_name.items()
    }


def as_json(spread: Spread) -> dict[str, float]:
    """Return a spread as JSON values."""
    return {"n": spread.n, "median": spread.median, "min": spread.low, "max": spread.high}


def spread_numbers(spreads: Mapping[str, Spread | None]) -> dict[str, JsonValue]:
    """Return the spreads as JSON values, without spreads that have no value."""
    return {name: as_json(spread) for name, spread in spreads.items() if spread is not None}


def outcome(
    measured_claims: Sequence[MeasuredClaim],
    notes: tuple[str, ...],
    numbers: JsonObject,
    title: str,
    rows: Sequence[Sequence[Panel]],
    *,
    width_in: float = PANEL_WIDTH_IN,
    height_in: float = PANEL_HEIGHT_IN,
) -> Outcome:
    """Judge the claims of a figure, and prepare its drawing."""
    claims = judge(measured_claims)
    layout = Layout(
        title=title,
        rows=share_axes(rows),
        notes=(*notes, *describe_systems(claims)),
        width_in=width_in,
        height_in=height_in,
    )
    return Outcome(claims=claims, notes=notes, numbers=numbers, draw=lambda: draw(layout))


def notes(
    options: Options,
    runs: Runs,
    *extra: str,
    begin: Sequence[str],
    degrees: Iterable[int] | None = None,
    has_scale_note: bool = True,
) -> tuple[str, ...]:
    """Return the notes of a figure; they name the cells without a number.

    `begin` has the first notes, on the paper's machine. `extra` follows the notes on quick runs, scale
    and cores. `degrees` has the figure's numbers of workers; None: the numbers in the options.
    """
    return (
        *begin,
        *quick_note(options),
        *(scale_note(options) if has_scale_note else ()),
        *dataset_note(options),
        *beyond_note(options, options.instances if degrees is None else degrees),
        *extra,
        *machine(runs),
        *troubles(runs)[:_SHOWN_TROUBLES],
    )


def plain(value: float) -> str:
    """Format a tick as a plain number, without a unit."""
    return f"{value:g}"


def published_claim(text: str, fact: Fact) -> PublishedClaim:
    """Return the claim of a published fact, not yet judged; see `PublishedClaim`."""
    return PublishedClaim(
        text=text, published=fact.text, source=fact.source, relation=fact.relation
    )


def beyond_note(options: Options, degrees: Iterable[int]) -> tuple[str, ...]:
    """Return the note on degrees of parallelism above the number of cores; empty if there are none."""
    excess_degrees = [n for n in degrees if n > options.cores]
    if not excess_degrees:
        return ()
    return (
        f"{', '.join(map(str, excess_degrees))} instances are more than the cores: hollow marks, "
        "not judged.",
    )


def quick_note(options: Options) -> tuple[str, ...]:
    """Return the note on a quick run; empty for other runs."""
    if not options.quick:
        return ()
    return ("A quick run: short, few repetitions. An indication; do not publish it.",)


def dataset_note(options: Options) -> tuple[str, ...]:
    """Return the note on a chosen dataset; empty for generated inputs."""
    if options.dataset is None:
        return ()
    return (
        f"Input: dataset {options.dataset[:16]}, whole at any scale, instead of generated input.",
    )


def scale_note(options: Options) -> tuple[str, ...]:
    """Return the note on a chosen scale; empty for inputs of the usual length."""
    if options.scale is None:
        return ()
    return (f"Scale {options.scale:g}: inputs are {options.scale:g} x this figure's usual length.",)
