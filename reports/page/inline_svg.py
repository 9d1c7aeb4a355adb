"""Turns an SVG file of matplotlib into markup that lives in the page and takes its colours."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from streamlab.reports.figures.panel import save
from streamlab.reports.figures.spots import Panel, Spot
from streamlab.reports.palette import GRID, INK, MUTED, PAPER, Colour

_REACH = 5
"""Radius in points within which a pointer is on a mark."""

_NAMED = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper"}


def drawn(
    panel: Panel, directory: Path, *, name: str, alt: str, engines: Mapping[str, Colour]
) -> str:
    """Write a panel into a directory as SVG and PNG, and return it for the page (`inline`)."""
    svg = save(panel.axes, directory / name)
    return inline(svg, name=name, alt=alt, engines=engines, spots=panel.spots)


def inline(
    svg: str,
    *,
    name: str,
    alt: str,
    engines: Mapping[str, Colour],
    spots: Sequence[Spot] = (),
) -> str:
    """Return the `<svg>` element for use in HTML.

    Colours become CSS variables, so that the figure follows light and dark; ids get the prefix
    `name`, since all figures share the page's; sizes are left to the page.

    Args:
        svg: text of an SVG file whose text is kept as text.
        name: unique in the page; letters, digits and hyphens.
        alt: what the figure shows, for those who cannot see it.
        engines: the colour of each engine, as in `variables`.
        spots: what its marks say; a browser shows it where the pointer rests, and the page's
            script to touch and keyboard, too.
    """
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = body.replace("xlink:href", "href")
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    body = re.sub(r"(font(?:-family)?:[^;\"]*?)'DejaVu Sans'[^;\"]*", r"\1var(--sans)", body)
    for colour, variable in (_NAMED | _engine_variables(engines)).items():
        body = re.sub(re.escape(colour.light), f"var(--{variable})", body, flags=re.IGNORECASE)
    view = re.search(r'viewBox="[^"]+"', body)
    size = re.search(r'width="([\d.]+)pt"', body)
    assert view is not None and size is not None, "matplotlib writes viewBox and width"
    opening = (
        f'<svg {view[0]} role="img" aria-label="{escape(alt)}"'
        f' style="max-width:{float(size[1]) * 1.45:.0f}px">'
    )
    body = re.sub(r"<svg[^>]*>", lambda _: opening, body, count=1)
    return body.replace("</svg>", "".join(map(_spot, spots)) + "</svg>")


def _spot(spot: Spot) -> str:
    return (
        f'<circle class="spot" cx="{spot.x:.1f}" cy="{spot.y:.1f}" r="{_REACH}">'
        f"<title>{escape(spot.text)}</title></circle>"
    )


def variables(engines: Mapping[str, Colour]) -> list[tuple[str, Colour]]:
    """Return the CSS variables that inlined figures use, with their colours."""
    pairs = {name: colour for colour, name in (_NAMED | _engine_variables(engines)).items()}
    return sorted(pairs.items())


def engine_variable(engine: str, engines: Mapping[str, Colour]) -> str:
    """Return the CSS variable with the colour of an engine."""
    return _engine_variables(engines)[engines[engine]]


def _engine_variables(engines: Mapping[str, Colour]) -> dict[Colour, str]:
    """Name colours rather than engines: engines beyond the palette share one."""
    return {colour: f"c-{colour.light.removeprefix('#')}" for colour in engines.values()}
