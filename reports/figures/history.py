"""Draws a cell over the runs of a machine as plain SVG: medians with their intervals, and steps.

Like `timeline`, the module writes SVG directly: a history has a small drawing per cell, and matplotlib
would be slow. Colours are the page's CSS variables.
"""

from collections.abc import Callable, Sequence
from html import escape

from matplotlib.ticker import MaxNLocator

from streamlab.reports.numbers import Quantity, short
from streamlab.reports.side_by_side import axis_of, write_value
from streamlab.reports.steps import Point, Step, Track

WIDTH, HEIGHT = 340, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 16, 22
_ROOM = 0.18  # free share of the range of values above and below, for the labels of steps
_LABEL_WIDTH = 30  # width of a step's label
_DOT_RADIUS, _SPOT_RADIUS = 3.0, 7.0  # radius of a point, and of the area that selects the point


def draw_history(track: Track, runs: Sequence[str], *, metric: str, alt: str) -> str:
    """Return the drawing of a track as an SVG element.

    Args:
        track: a track with at least one point.
        runs: names of all runs, in order of time; all drawings of a page share this axis.
        metric: a name of `streamlab.results.compare.METRICS`, for the units.
        alt: text alternative of the drawing.
    """
    low = min(point.low for point in track.points)
    high = max(point.high for point in track.points)
    room = (high - low) * _ROOM or abs(high) * _ROOM or 1.0
    low, high = max(low - room, 0.0) if low >= 0 else low - room, high + room

    def x(index: int) -> float:
        span = WIDTH - _LEFT - _RIGHT
        return _LEFT + span * (index + 0.5) / len(runs)

    def y(value: float) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    bottom = HEIGHT - _BOTTOM
    scale = min(1.0, max((WIDTH - _LEFT - _RIGHT) / len(runs) / (2 * _DOT_RADIUS), 0.25))
    parts = [_draw_grid(low, high, y, metric), *_draw_steps(track.steps, x)]
    line = " ".join(f"{x(point.run):.1f},{y(point.median):.1f}" for point in track.points)
    parts.append(f'<polyline points="{line}" stroke="var(--muted)" fill="none"/>')
    parts += [_draw_bar(point, x(point.run), y, scale) for point in track.points]
    parts += [
        f'<text x="{x(index):.1f}" y="{bottom - 3}" text-anchor="middle" fill="var(--bad)">'
        f"\N{MULTIPLICATION SIGN}<title>{escape(f'{runs[index]}: {status}')}</title></text>"
        for index, status in track.failed
    ]
    parts.append(f'<path d="M{_LEFT},{bottom}H{WIDTH - _RIGHT}" stroke="var(--muted)"/>')
    ends = {0: "start", len(runs) - 1: "end"} if len(runs) > 1 else {0: "middle"}
    parts += [
        f'<text x="{x(index) + {"start": -8, "end": 8}.get(side, 0):.1f}" y="{HEIGHT - 7}" '
        f'text-anchor="{side}" fill="var(--muted)">{index + 1}</text>'
        for index, side in ends.items()
    ]
    parts += [
        f'<circle class="spot" cx="{x(point.run):.1f}" cy="{y(point.median):.1f}" r="{_SPOT_RADIUS * scale:.1f}">'
        f"<title>{escape(_describe_point(point, runs, metric, track.steps))}</title></circle>"
        for point in track.points
    ]
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(alt)}" '
        f'class="timeline" style="max-width:{WIDTH * 1.2:.0f}px">{"".join(parts)}</svg>'
    )


def _draw_grid(low: float, high: float, y: Callable[[float], float], metric: str) -> str:
    unit, write = axis_of(metric, high)
    locator = MaxNLocator(nbins=4, steps=(1, 2, 5, 10))
    round_numbers = locator.tick_values(low / unit, high / unit)
    ticks = [number * unit for number in round_numbers if low <= number * unit <= high]
    labelled = {short(write(tick).text): tick for tick in ticks}  # close ticks may share a text
    return "".join(
        f'<path d="M{_LEFT},{y(tick):.1f}H{WIDTH - _RIGHT}" stroke="var(--grid)"/>'
        f'<text x="{_LEFT - 4}" y="{y(tick) + 3.5:.1f}" text-anchor="end" fill="var(--muted)">'
        f"{escape(text)}</text>"
        for text, tick in labelled.items()
    )


def _draw_bar(point: Point, x: float, y: Callable[[float], float], scale: float) -> str:
    """Draw an interval as a thick bar, a range as a thin bar, and the median as a dot."""
    width = (4 if point.is_interval else 1.2) * scale
    return (
        f'<path d="M{x:.1f},{y(point.low):.1f}V{y(point.high):.1f}" stroke="var(--muted)" '
        f'stroke-width="{width:.1f}" opacity=".55"/>'
        f'<circle cx="{x:.1f}" cy="{y(point.median):.1f}" r="{_DOT_RADIUS * scale:.1f}" fill="var(--ink)"/>'
    )


def _draw_steps(steps: Sequence[Step], x: Callable[[int], float]) -> list[str]:
    """Draw steps as dashed lines; where there is room, a rise is labelled above and a fall below."""
    parts = []
    free_from = {True: 0.0, False: 0.0}
    for step in steps:
        colour = "var(--good)" if step.better else "var(--bad)"
        middle = (x(step.before) + x(step.after)) / 2
        parts.append(
            f'<path d="M{middle:.1f},{_TOP}V{HEIGHT - _BOTTOM}" stroke="{colour}" '
            f'stroke-dasharray="3 2"/>'
        )
        rises = step.ratio > 1
        if middle - _LABEL_WIDTH / 2 >= free_from[rises]:
            free_from[rises] = middle + _LABEL_WIDTH / 2
            parts.append(
                f'<text x="{middle:.1f}" y="{_TOP + 6 if rises else HEIGHT - _BOTTOM - 3}" '
                f'text-anchor="middle" font-weight="bold" fill="{colour}" '
                f'stroke="var(--paper)" stroke-width="3" paint-order="stroke">'
                f"{'+' if rises else chr(0x2212)}{abs(step.ratio - 1):.0%}</text>"
            )
    return parts


def _describe_point(point: Point, runs: Sequence[str], metric: str, steps: Sequence[Step]) -> str:
    def write(value: float) -> Quantity:
        return write_value(metric, value)

    kind = "95 % interval" if point.is_interval else "range"
    text = (
        f"{point.run + 1}. {runs[point.run]}: {write(point.median).exact} (median of {point.n}; "
        f"{kind} {write(point.low).exact} to {write(point.high).exact})"
    )
    for step in steps:
        if step.after == point.run:
            direction = "better" if step.better else "worse"
            text += f"; step, {direction}: {step.ratio:.3f} times run {step.before + 1}"
    return text
