"""Draws the figures of offered loads, searches and energy, and prepares them for the page."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from streamlab.reports.baseline import label
from streamlab.reports.energy import EnergyUse
from streamlab.reports.figures.brackets import bracket_panel, bracket_range
from streamlab.reports.figures.energy_bars import Bar, energy_panel
from streamlab.reports.figures.level_latency import level_panel, level_range
from streamlab.reports.figures.offered_latency import (
    has_latency,
    offered_latency_panel,
    offered_range,
)
from streamlab.reports.numbers import duration, joules, rate
from streamlab.reports.page.drawings import Drawing, slug
from streamlab.reports.page.inline_svg import save_inline
from streamlab.reports.palette import Colour
from streamlab.reports.search_text import Level, Search
from streamlab.reports.summary import Cell
from streamlab.reports.table import Group, group_of, in_groups, title
from streamlab.reports.verdicts import with_mark

Colours = Mapping[str, Colour]


def offered_drawings(cells: Sequence[Cell], colours: Colours, directory: Path) -> list[Drawing]:
    """Draw the latencies under offered loads, one panel per workload and input, on one range."""
    limits = offered_range(cells)
    drawings = []
    for group, members in in_groups(cells):
        svg = ""
        if limits is not None and any(map(has_latency, members)):
            name = f"offered-latency-{slug(group)}"
            panel = offered_latency_panel(title(group), members, colours, limits)
            alt = f"Latency under offered load of {title(group)}. " + "; ".join(
                map(_latency_words, filter(has_latency, members))
            )
            svg = save_inline(panel, directory, name=name, alt=alt, engines=colours)
        drawings.append(Drawing(title=title(group), svg=svg, cells=members))
    return drawings


def search_groups(searches: Sequence[Search]) -> list[tuple[Group, list[Search]]]:
    """Sort searches as cells are sorted, by workload and input."""
    by_name = {search.name: search for search in searches}
    groups = in_groups([search.place for search in searches])
    return [(group, [by_name[cell.name] for cell in members]) for group, members in groups]


def bracket_drawings(
    searches: Sequence[Search], colours: Colours, directory: Path
) -> dict[Group, str]:
    """Draw the brackets, one panel per workload and input, all on one range."""
    limits = bracket_range(searches)
    if limits is None:
        return {}
    drawings = {}
    for group, members in search_groups(searches):
        name = f"sustainable-{slug(group)}"
        alt = f"Sustainable rates of {title(group)}. " + "; ".join(map(_bracket_words, members))
        panel = bracket_panel(title(group), members, colours, limits)
        drawings[group] = save_inline(panel, directory, name=name, alt=alt, engines=colours)
    return drawings


def level_drawings(
    searches: Sequence[Search], colours: Colours, directory: Path
) -> dict[Group, str]:
    """Draw latency against load, one panel per workload and input, all on one range."""
    limits = level_range(searches)
    if limits is None:
        return {}
    drawings = {}
    for group, members in search_groups(searches):
        levels = [search for search in members if any(map(_has_latency, search.levels))]
        if levels:
            name = f"latency-by-load-{slug(group)}"
            alt = f"Latency against load of {title(group)}. " + "; ".join(map(_level_words, levels))
            panel = level_panel(title(group), members, colours, limits)
            drawings[group] = save_inline(panel, directory, name=name, alt=alt, engines=colours)
    return drawings


def energy_drawings(used: Sequence[EnergyUse], colours: Colours, directory: Path) -> list[str]:
    """Draw the measured energy, one panel per workload and input."""
    drawings = []
    for workload, members in groupby(used, key=lambda use: use.workload):
        group = group_of(next(use for use in used if use.workload == workload).cell)
        bars = [bar for use in members if (bar := _bar(use))]
        if bars:
            name = f"energy-{slug(group)}"
            alt = f"Measured energy per 1,000 events of {workload}. " + "; ".join(
                f"{bar.name}: {joules(bar.gross_j).text}" for bar in bars
            )
            panel = energy_panel(workload, bars, colours)
            drawings.append(save_inline(panel, directory, name=name, alt=alt, engines=colours))
    return drawings


def _bar(use: EnergyUse) -> Bar | None:
    if use.gross_j is None:
        return None
    return Bar(
        name=with_mark(f"{label(use.cell)}; {use.at}", use.cell.status),
        engine=use.cell.engine,
        gross_j=use.gross_j.median,
        net_j=use.net_j.median if use.net_j else None,
    )


def _has_latency(level: Level) -> bool:
    return level.cell.latency_p50_ns is not None or level.cell.latency_p99_ns is not None


def _latency_words(cell: Cell) -> str:
    parts = [
        f"{name} {duration(quantity.median).text}"
        for name, quantity in (
            ("p50", cell.latency_p50_ns),
            ("p99", cell.latency_p99_ns),
            ("service p50", cell.load.service_p50_ns if cell.load else None),
            ("service p99", cell.load.service_p99_ns if cell.load else None),
        )
        if quantity
    ]
    load = cell.load.label if cell.load else ""
    return f"{label(cell)}, {load}, {cell.status}: {', '.join(parts)}"


def _bracket_words(search: Search) -> str:
    if search.pass_eps is None:
        return f"{label(search.place)}: none found"
    high = f", not {rate(search.fail_eps).text}" if search.fail_eps else ""
    return f"{label(search.place)}: {rate(search.pass_eps).text}{high}"


def _level_words(search: Search) -> str:
    parts = [
        f"{level.share:.0%} "
        + " ".join(
            f"{name} {duration(quantity.median).text}"
            for name, quantity in (
                ("p50", level.cell.latency_p50_ns),
                ("p99", level.cell.latency_p99_ns),
            )
            if quantity
        )
        for level in search.levels
    ]
    return f"{label(search.place)}: {', '.join(parts)}"
