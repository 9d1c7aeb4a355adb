"""Draws the figures of a run, writes them into its directory, and prepares them for the page."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from streamlab.reports.baseline import label
from streamlab.reports.energy import EnergyUse
from streamlab.reports.figures.brackets import bracket_panel, bracket_range
from streamlab.reports.figures.energy_bars import Bar, energy_panel
from streamlab.reports.figures.latency import (
    Pair,
    due,
    has_latency,
    latency_panel,
    offered_latency_panel,
    percentiles,
    service,
    shared_range,
)
from streamlab.reports.figures.level_latency import level_panel, level_range
from streamlab.reports.figures.panel import Panel
from streamlab.reports.figures.throughput import shared_scale, throughput_panel
from streamlab.reports.numbers import joules, latency, rate
from streamlab.reports.page.inline_svg import save_inline
from streamlab.reports.palette import Colour
from streamlab.reports.searches import Search
from streamlab.reports.summary import Cell
from streamlab.reports.table import Group, group_of, in_groups, title
from streamlab.reports.verdicts import append_mark

Colours = Mapping[str, Colour]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A panel of a group: title, SVG for the page (empty without numbers), and cells."""

    title: str
    svg: str
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of drawing: one panel per workload and input, all with the same scale.

    Attributes:
        name: prefix of the file names.
        alt: start of the text alternative; `{}` is the group's title.
        limits: returns the common scale of all cells or searches; None without any number.
        panel: draws a panel from a title, cells or searches, colours and the scale.
        is_drawn: returns whether the panel shows a cell or search.
        words: describes a cell or search in words.
    """

    name: str
    alt: str
    limits: Callable[[Sequence[Any]], Any]
    panel: Callable[[str, Sequence[Any], Colours, Any], Panel]
    is_drawn: Callable[[Any], bool]
    words: Callable[[Any], str]


def cell_drawings(
    kind: Kind, cells: Sequence[Cell], colours: Colours, directory: Path | None
) -> list[Drawing]:
    """Draw the panels of a kind for cells, and write their files into a directory."""
    svgs = _draw_groups(kind, in_groups(cells), kind.limits(cells), colours, directory)
    return [
        Drawing(title=title(group), svg=svgs.get(group, ""), cells=members)
        for group, members in in_groups(cells)
    ]


def search_drawings(
    kind: Kind, searches: Sequence[Search], colours: Colours, directory: Path | None
) -> dict[Group, str]:
    """Draw the panels of a kind for searches; groups without a number get no panel."""
    return _draw_groups(kind, search_groups(searches), kind.limits(searches), colours, directory)


def _draw_groups(
    kind: Kind,
    groups: Sequence[tuple[Group, Sequence[Any]]],
    limits: Any,
    colours: Colours,
    directory: Path | None,
) -> dict[Group, str]:
    svgs = {}
    for group, members in groups:
        drawn = list(filter(kind.is_drawn, members))
        if limits is not None and drawn:
            svgs[group] = save_inline(
                kind.panel(title(group), members, colours, limits),
                directory,
                name=f"{kind.name}-{slug(group)}",
                alt=f"{kind.alt.format(title(group))}. {'; '.join(map(kind.words, drawn))}",
                engines=colours,
            )
    return svgs


def search_groups(searches: Sequence[Search]) -> list[tuple[Group, list[Search]]]:
    """Group and sort searches like cells, by workload and input."""
    by_name = {search.name: search for search in searches}
    groups = in_groups([search.place for search in searches])
    return [(group, [by_name[cell.name] for cell in members]) for group, members in groups]


def energy_drawings(
    used: Sequence[EnergyUse], colours: Colours, directory: Path | None
) -> list[str]:
    """Draw the measured energy, one panel per workload and input."""
    drawings = []
    for workload, members in groupby(used, key=lambda use: use.workload):
        group = group_of(next(use for use in used if use.workload == workload).cell)
        bars = [bar for use in members if (bar := _make_bar(use))]
        if bars:
            words = "; ".join(f"{bar.name}: {joules(bar.gross_j).text}" for bar in bars)
            drawings.append(
                save_inline(
                    energy_panel(workload, bars, colours),
                    directory,
                    name=f"energy-{slug(group)}",
                    alt=f"Measured energy per 1,000 events of {workload}. {words}",
                    engines=colours,
                )
            )
    return drawings


def slug(group: Group) -> str:
    """Return a group's name in a form that suits file names and element ids."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", "-".join(part for part in group if part)).strip("-")


def _make_bar(use: EnergyUse) -> Bar | None:
    if use.gross_j is None:
        return None
    return Bar(
        name=append_mark(f"{label(use.cell)}; {use.load}", use.cell.status),
        engine=use.cell.engine,
        gross_j=use.gross_j.median,
        net_j=use.net_j.median if use.net_j else None,
    )


def _percentile_words(pair: Pair, prefix: str = "") -> list[str]:
    """Return the medians of p50 and p99 that have a value, as texts."""
    return [f"{prefix}{name} {latency(s.median).text}" for name, s in percentiles(pair)]


def _rate_words(cell: Cell) -> str:
    assert cell.throughput_eps is not None
    return f"{label(cell)}: {rate(cell.throughput_eps.median).text}"


def _latency_words(cell: Cell) -> str:
    return f"{label(cell)}: {' and '.join(_percentile_words(due(cell)))}"


def _offered_words(cell: Cell) -> str:
    parts = _percentile_words(due(cell))
    parts += _percentile_words(service(cell), "service ")
    load = cell.load.label if cell.load else ""
    return f"{label(cell)}, {load}, {cell.status}: {', '.join(parts)}"


def _bracket_words(search: Search) -> str:
    if search.pass_eps is None:
        return f"{label(search.place)}: none found"
    high = f", not {rate(search.fail_eps).text}" if search.fail_eps else ""
    ceiling = search.broker_ceiling_eps
    limit = f", the broker alone {rate(ceiling.median).text}" if ceiling else ""
    return f"{label(search.place)}: {rate(search.pass_eps).text}{high}{limit}"


def _level_words(search: Search) -> str:
    parts = [
        f"{level.share:.0%} " + " ".join(_percentile_words(due(level.cell)))
        for level in search.levels
    ]
    return f"{label(search.place)}: {', '.join(parts)}"


THROUGHPUT = Kind(
    name="throughput",
    alt="Throughput of {} by number of workers",
    limits=shared_scale,
    panel=throughput_panel,
    is_drawn=lambda cell: cell.throughput_eps is not None,
    words=_rate_words,
)
LATENCY = Kind(
    name="latency",
    alt="Latency of {}",
    limits=shared_range,
    panel=latency_panel,
    is_drawn=has_latency,
    words=_latency_words,
)
OFFERED_LATENCY = Kind(
    name="offered-latency",
    alt="Latency under offered load of {}",
    limits=shared_range,
    panel=offered_latency_panel,
    is_drawn=has_latency,
    words=_offered_words,
)
BRACKETS = Kind(
    name="sustainable",
    alt="Sustainable rates of {}",
    limits=bracket_range,
    panel=bracket_panel,
    is_drawn=lambda search: True,
    words=_bracket_words,
)
LEVELS = Kind(
    name="latency-by-load",
    alt="Latency against load of {}",
    limits=level_range,
    panel=level_panel,
    is_drawn=lambda search: any(any(due(level.cell)) for level in search.levels),
    words=_level_words,
)
