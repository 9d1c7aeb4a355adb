"""Gives common axes to panels over time."""

from collections.abc import Sequence
from dataclasses import replace

from streamlab.reports.figures.paper import Panel, vertical_values


def share_axes(rows: Sequence[Sequence[Panel]]) -> list[list[Panel]]:
    """Return rows of panels with common axis ranges.

    A stack is a column whose lowest panel alone has an x label; the panels of a stack share one time axis.
    Stacks side by side have a common vertical range for each quantity.
    """
    shared = [list(row) for row in rows]
    for column in range(min(len(row) for row in rows)):
        stack = [row[column] for row in rows]
        labelled = [bool(panel.x_label) for panel in stack]
        if labelled != [False] * (len(stack) - 1) + [True] or len(stack) < 2:
            continue
        if any(panel.ticks or panel.tick_names for panel in stack):
            continue
        x_span = [x for panel in stack for x in _x_values(panel)]
        for number, panel in enumerate(stack):
            same_quantity = [
                p for p in rows[number] if (p.y_label, p.log_y) == (panel.y_label, panel.log_y)
            ]
            span = (
                [y for other in same_quantity for y in vertical_values(other)]
                if len(same_quantity) > 1
                else panel.span
            )
            shared[number][column] = replace(panel, x_span=x_span, span=span)
    return shared


def _x_values(panel: Panel) -> list[float]:
    return [point.x for line in panel.lines for point in line.points] + [
        x for shade in panel.shades for x in (shade.begin, shade.end)
    ]
