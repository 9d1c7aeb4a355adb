"""Draws the figures of a run into its directory, and prepares them for the page."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamlab.reports.baseline import label
from streamlab.reports.figures.latency import latency_panel, shared_range
from streamlab.reports.figures.throughput import shared_scale, throughput_panel
from streamlab.reports.numbers import latency, rate
from streamlab.reports.page.inline_svg import save_inline
from streamlab.reports.palette import Colour
from streamlab.reports.summary import Cell
from streamlab.reports.table import Group, in_groups, title


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A panel: the group's title, its SVG for the page (empty without numbers), and its cells."""

    title: str
    svg: str
    cells: Sequence[Cell]


def throughput_drawings(
    cells: Sequence[Cell], colours: Mapping[str, Colour], directory: Path
) -> list[Drawing]:
    """Draw throughput against workers, one panel per workload and input, all on one scale."""
    scale = shared_scale(cells)
    drawings = []
    for group, members in in_groups(cells):
        svg = ""
        if scale is not None and any(cell.throughput_eps for cell in members):
            name = f"throughput-{slug(group)}"
            panel = throughput_panel(title(group), members, colours, scale)
            alt = f"Throughput of {title(group)} by number of workers. " + "; ".join(
                f"{label(cell)}: {rate(cell.throughput_eps.median).text}"
                for cell in members
                if cell.throughput_eps
            )
            svg = save_inline(panel, directory, name=name, alt=alt, engines=colours)
        drawings.append(Drawing(title=title(group), svg=svg, cells=members))
    return drawings


def latency_drawings(
    cells: Sequence[Cell], colours: Mapping[str, Colour], directory: Path
) -> list[Drawing]:
    """Draw the latencies of all cells, one panel per workload and input, all on one range."""
    limits = shared_range(cells)
    drawings = []
    for group, members in in_groups(cells):
        svg = ""
        stamped = [cell for cell in members if cell.latency_p50_ns or cell.latency_p99_ns]
        if limits is not None and stamped:
            name = f"latency-{slug(group)}"
            panel = latency_panel(title(group), members, colours, limits)
            alt = f"Latency of {title(group)}. " + "; ".join(map(_latency_words, stamped))
            svg = save_inline(panel, directory, name=name, alt=alt, engines=colours)
        drawings.append(Drawing(title=title(group), svg=svg, cells=members))
    return drawings


def slug(group: Group) -> str:
    """Return a group's name in a form for file names and element ids."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", "-".join(part for part in group if part)).strip("-")


def _latency_words(cell: Cell) -> str:
    parts = [
        f"{name} {latency(quantity.median).text}"
        for name, quantity in (("p50", cell.latency_p50_ns), ("p99", cell.latency_p99_ns))
        if quantity
    ]
    return f"{label(cell)}: {' and '.join(parts)}"
