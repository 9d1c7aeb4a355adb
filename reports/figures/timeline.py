"""Draws a trial over time as plain SVG: a stack of small panels on one time axis.

The module writes SVG directly: a report may have dozens of timelines, and drawings by matplotlib would be
large and slow. Colours are the page's CSS variables.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape

from matplotlib.ticker import MaxNLocator

from streamlab.reports.numbers import Quantity, count, digits, duration, memory, memory_unit, short
from streamlab.reports.trial_series import Span, TrialTimeline, Values

WIDTH = 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 10, 20, 30
_PANEL, _GAP = 46, 20
_PHASE_NAMES = {
    "warm_up": "warm-up",
    "window": "window",
    "drain": "drain",
    "prepare": "preparation",
}
_SHADES = {"window": 0.0, "warm_up": 0.55, "drain": 0.9}
_TICK_STEPS = (1, 2, 5, 10)
_DASHES = ("", "4 2", "1 2", "6 2 1 2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A quantity and its lines by name; the last line has the engine's colour, the other lines are grey.

    Ticks are round multiples of `unit`.
    """

    title: str
    lines: Mapping[str, Values]
    write: Callable[[float], Quantity]
    log: bool = False
    unit: float = 1.0


def draw_timeline(
    timeline: TrialTimeline, *, colour: str, alt: str, scaled: bool, offered: bool
) -> str:
    """Return the drawing of a trial as an SVG element.

    Args:
        timeline: the trial; quantities without values are not drawn.
        colour: CSS colour of the main line of each panel.
        alt: text alternative of the drawing.
        scaled: whether to show values at the vertical axes and points; False for unverified trials.
        offered: whether the trial had a load, so that its latencies count from due times.
    """
    panels = _make_panels(timeline, offered=offered)
    height = _TOP + len(panels) * (_PANEL + _GAP) + _BOTTOM
    end_s = max(timeline.phases[-1].end_s, 0.1)

    def x(t_s: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * t_s / end_s

    bottom = _TOP + len(panels) * (_PANEL + _GAP)
    parts = [_draw_phases(timeline.phases, x, bottom)]
    for index, panel in enumerate(panels):
        top = _TOP + index * (_PANEL + _GAP) + _GAP
        parts.append(_draw_panel(panel, timeline.times_s, x, top, colour, scaled=scaled))
    parts.append(_draw_time_axis(end_s, x, bottom))
    times = ""
    if scaled:
        positions = " ".join(f"{t_s:g}@{x(t_s):.1f}" for t_s in timeline.times_s)
        times = f' data-times="{positions}"'
        parts.append(f'<line class="cursor" x1="0" x2="0" y1="{_TOP}" y2="{bottom}"/>')
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(alt)}" '
        f'class="timeline"{times} style="max-width:{WIDTH}px">{"".join(parts)}</svg>'
    )


def _make_panels(timeline: TrialTimeline, *, offered: bool) -> list[Panel]:
    cores = {"cores": timeline.cores}
    peak_bytes = max((value for value in timeline.memory_bytes if value is not None), default=0.0)
    panels = [
        Panel(title="events/s", lines=timeline.rates, write=count),
        Panel(title="backlog, events", lines={"backlog": timeline.backlog}, write=count),
        Panel(
            title="latency from due time" if offered else "latency in the engine",
            lines={name: timeline.latency_ns[name] for name in ("max", "p99", "p50")},
            write=duration,
            log=True,
        ),
        Panel(title="CPU, cores in use", lines=cores, write=_plain),
        Panel(
            title="memory",
            lines={"memory": timeline.memory_bytes},
            write=partial(memory, unit=memory_unit(peak_bytes)),
            unit=memory_unit(peak_bytes),
        ),
        Panel(title="power, W", lines=timeline.power_w, write=_plain),
    ]
    return [panel for panel in panels if len(_shown_values(panel)) > 1]


def _draw_phases(spans: Sequence[Span], x: Callable[[float], float], bottom: float) -> str:
    parts = []
    free_x = float(_LEFT)  # earliest start of the next label, which must not overlap the last label
    for span in spans:
        begin, end = x(span.begin_s), x(span.end_s)
        shade = _SHADES.get(span.name, 0.0)
        if shade:
            parts.append(
                f'<rect x="{begin:.1f}" y="{_TOP}" width="{end - begin:.1f}" '
                f'height="{bottom - _TOP}" fill="var(--grid)" opacity="{shade}"/>'
            )
        words = _PHASE_NAMES.get(span.name, span.name)
        width = 6.0 * len(words)
        label_x = min(max(begin, free_x), WIDTH - width)
        free_x = label_x + width + 6
        parts.append(
            f'<text x="{label_x:.1f}" y="{_TOP - 6}" fill="var(--muted)">{escape(words)}</text>'
        )
    return "".join(parts)


def _draw_panel(
    panel: Panel,
    times_s: Sequence[float],
    x: Callable[[float], float],
    top: float,
    colour: str,
    *,
    scaled: bool,
) -> str:
    low, high = _limits(_shown_values(panel), log=panel.log)

    def y(value: float) -> float:
        share = (
            math.log(value / low) / math.log(high / low)
            if panel.log
            else (value - low) / (high - low)
        )
        return top + _PANEL * (1 - share)

    parts = [_draw_title(panel, top, colour)]
    for tick in _ticks(low, high, panel):
        parts.append(
            f'<path d="M{_LEFT},{y(tick):.1f}H{WIDTH - _RIGHT}" stroke="var(--grid)" fill="none"/>'
        )
        if scaled:
            parts.append(
                f'<text x="{_LEFT - 5}" y="{y(tick) + 3.5:.1f}" text-anchor="end" '
                f'fill="var(--muted)">{escape(short(panel.write(tick).text))}</text>'
            )
    for number, (name, line) in enumerate(panel.lines.items()):
        ink, dash = _line_style(panel, number, colour)
        points = [
            (x(t_s), y(value)) if value is not None and _is_shown(value, panel) else None
            for t_s, value in zip(times_s, line, strict=True)
        ]
        parts.append(
            f'<path d="{_path(points)}" stroke="{ink}" fill="none" stroke-width="1.4" '
            f'stroke-linejoin="round" stroke-linecap="round"{dash}'
            f"{_value_attributes(panel, name, line) if scaled else ''}><title>{escape(name)}</title></path>"
        )
    return "".join(parts)


def _value_attributes(panel: Panel, name: str, line: Values) -> str:
    """Return the name and values of a line as attributes for the page's script; an unknown value is empty."""
    quantity = panel.title if len(panel.lines) == 1 else f"{panel.title} {name}"
    texts = "|".join("" if value is None else panel.write(value).text for value in line)
    return f' data-name="{escape(quantity)}" data-values="{escape(texts)}"'


def _line_style(panel: Panel, number: int, colour: str) -> tuple[str, str]:
    """Return the colour of a line, and an SVG attribute for its dashes."""
    lines_after = len(panel.lines) - 1 - number
    dash = _DASHES[lines_after % len(_DASHES)]
    return (
        colour if lines_after == 0 else "var(--muted)",
        f' stroke-dasharray="{dash}"' if dash else "",
    )


def _draw_title(panel: Panel, top: float, colour: str) -> str:
    """Write the quantity, and a legend of its lines."""
    parts = [f'<text x="{_LEFT}" y="{top - 5:.0f}" fill="var(--ink)">{escape(panel.title)}</text>']
    if len(panel.lines) == 1:
        return parts[0]
    left = float(WIDTH - _RIGHT)
    for number, name in reversed(list(enumerate(panel.lines))):
        ink, dash = _line_style(panel, number, colour)
        left -= 5.6 * len(name) + 4
        parts.append(
            f'<text x="{left:.0f}" y="{top - 5:.0f}" fill="var(--muted)">{escape(name)}</text>'
            f'<path d="M{left - 20:.0f},{top - 8.5:.1f}h16" stroke="{ink}" stroke-width="1.4" '
            f'fill="none"{dash}/>'
        )
        left -= 28
    return "".join(parts)


def _draw_time_axis(end_s: float, x: Callable[[float], float], bottom: float) -> str:
    parts = [f'<path d="M{_LEFT},{bottom}H{WIDTH - _RIGHT}" stroke="var(--muted)" fill="none"/>']
    ticks = [
        t
        for t in MaxNLocator(nbins=7, steps=_TICK_STEPS).tick_values(0.0, end_s)
        if 0 <= t <= end_s
    ]
    parts += [
        f'<path d="M{x(t):.1f},{bottom}v3" stroke="var(--muted)" fill="none"/>'
        f'<text x="{x(t):.1f}" y="{bottom + 14}" text-anchor="middle" '
        f'fill="var(--muted)">{t:g}</text>'
        for t in ticks
    ]
    parts.append(
        f'<text x="{WIDTH - _RIGHT}" y="{bottom + 27}" text-anchor="end" fill="var(--muted)">'
        "seconds since the start of the timed part</text>"
    )
    return "".join(parts)


def _path(points: Sequence[tuple[float, float] | None]) -> str:
    """Return an SVG path with a gap at each None; a lone point is a dot."""
    parts = []
    for index, point in enumerate(points):
        if point is None:
            continue
        starts = index == 0 or points[index - 1] is None
        ends = index + 1 == len(points) or points[index + 1] is None
        parts.append(f"{'M' if starts else 'L'}{point[0]:.1f},{point[1]:.1f}")
        if starts and ends:
            parts.append("h0")
    return "".join(parts)


def _limits(values: Sequence[float], *, log: bool) -> tuple[float, float]:
    low, high = min(values), max(values)
    if log:
        return (low / 1.5, max(high, low * 1.2) * 1.5)
    low = min(low, 0.0)
    return (low, high + (high - low) * 0.08) if high > low else (low, low + 1.0)


def _ticks(low: float, high: float, panel: Panel) -> list[float]:
    if not panel.log:
        ticks = MaxNLocator(nbins=3, steps=_TICK_STEPS).tick_values(
            low / panel.unit, high / panel.unit
        )
        return [float(tick) * panel.unit for tick in ticks if low <= tick * panel.unit <= high]
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    if first > last:  # no power of ten in the range
        return [math.sqrt(low * high)]
    step = max(1, math.ceil((last - first) / 2))
    return [10.0**power for power in range(first, last + 1, step)]


def _is_shown(value: float | None, panel: Panel) -> bool:
    return value is not None and (value > 0 or not panel.log)


def _shown_values(panel: Panel) -> list[float]:
    """Return all values of a panel that it can show."""
    return [
        value
        for line in panel.lines.values()
        for value in line
        if value is not None and _is_shown(value, panel)
    ]


def _plain(value: float) -> Quantity:
    return Quantity(text=f"{value:g}", exact=digits(value))
