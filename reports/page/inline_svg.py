"""Converts SVG from matplotlib to markup for a page, in the page's colours."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from streamlab.reports.figures.panel import Panel, Spot, as_svg, save
from streamlab.reports.palette import GRID, INK, MUTED, PAPER, Colour

_REACH = 5
"""Radius in points around a mark within which a pointer selects the mark."""

_VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper"}


def save_inline(
    panel: Panel, directory: Path | None, *, name: str, alt: str, engines: Mapping[str, Colour]
) -> str:
    """Return a panel's SVG for the page (`inline`); with a directory, also write SVG and PNG files."""
    svg = as_svg(panel.axes) if directory is None else save(panel.axes, directory / name)
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

    Colours become CSS variables, so that the figure follows light and dark mode. Element ids get the prefix
    `name`, since ids must be unique in the page. The page sets the sizes.

    Args:
        svg: an SVG file whose texts are text elements.
        name: a prefix that is unique in the page: letters, digits and hyphens.
        alt: text alternative of the figure.
        engines: the colour of each engine, as in `variables`.
        spots: the figure's marks. Browsers show the texts of marks under the pointer; the page's script also
            shows them on touch and for the keyboard.
    """
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = body.replace("xlink:href", "href")
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    body = re.sub(r"(font(?:-family)?:[^;\"]*?)'DejaVu Sans'[^;\"]*", r"\1var(--sans)", body)
    for colour, variable in (_VARIABLES | _engine_variables(engines)).items():
        body = re.sub(re.escape(colour.light), f"var(--{variable})", body, flags=re.IGNORECASE)
    view = re.search(r'viewBox="[^"]+"', body)
    size = re.search(r'width="([\d.]+)pt"', body)
    assert view is not None and size is not None, "matplotlib writes viewBox and width"
    opening = (
        f'<svg {view[0]} role="img" aria-label="{escape(alt)}"'
        f' style="max-width:{float(size[1]) * 2:.0f}px">'
    )
    body = re.sub(r"<svg[^>]*>", lambda _: opening, body, count=1)
    return body.replace("</svg>", "".join(map(_draw_spot, spots)) + "</svg>")


def _draw_spot(spot: Spot) -> str:
    return (
        f'<circle class="spot" cx="{spot.x:.1f}" cy="{spot.y:.1f}" r="{_REACH}">'
        f"<title>{escape(spot.text)}</title></circle>"
    )


def variables(engines: Mapping[str, Colour]) -> list[tuple[str, Colour]]:
    """Return the CSS variables of inlined figures, with their colours."""
    pairs = {name: colour for colour, name in (_VARIABLES | _engine_variables(engines)).items()}
    return sorted(pairs.items())


def engine_variable(engine: str, engines: Mapping[str, Colour]) -> str:
    """Return the CSS variable with the colour of an engine."""
    return _engine_variables(engines)[engines[engine]]


def _engine_variables(engines: Mapping[str, Colour]) -> dict[Colour, str]:
    """Return one variable per colour rather than per engine, since engines beyond the palette share a colour."""
    return {colour: f"c-{colour.light.removeprefix('#')}" for colour in engines.values()}
