"""Assigns every engine a colour, the same in all figures and tables of all reports.

The colours are based on Okabe and Ito ("Color Universal Design", 2008); people with common forms of colour
blindness can distinguish them. Some colours are darkened to be readable as text. The second colour of each
pair is lightened for dark backgrounds.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from streamlab.reports.engine_traits import colour_slot


@dataclass(frozen=True, slots=True, kw_only=True)
class Colour:
    """A colour for light and for dark backgrounds; figure files on disk use `light`."""

    light: str
    dark: str


INK = Colour(light="#1b1f24", dark="#e6e9ed")
MUTED = Colour(light="#59626e", dark="#9aa5b1")
GRID = Colour(light="#dfe3e8", dark="#343c46")
PAPER = Colour(light="#fffffe", dark="#15191e")

_SLOTS = (
    Colour(light="#0072b2", dark="#56a9e0"),
    Colour(light="#c05200", dark="#f08a3c"),
    Colour(light="#00805d", dark="#3ac79b"),
    Colour(light="#a84f81", dark="#e09cc2"),
    Colour(light="#b07d00", dark="#e6b93c"),
    Colour(light="#5d4ea8", dark="#a598ea"),
)
_GREY = Colour(light="#6c757f", dark="#a3adb8")
_RESERVED = 4
"""Number of colours, from the first, reserved for engines whose variants state a colour."""


def slot(number: int) -> Colour:
    """Return a colour by number, for series that are not engines; grey beyond the palette."""
    return _SLOTS[number] if number < len(_SLOTS) else _GREY


def engine_colours(engines: Iterable[str]) -> Mapping[str, Colour]:
    """Return a colour for each engine.

    An engine may state its colour. Other engines get the free colours in alphabetical order, and then grey.
    """
    free_colours = iter(_SLOTS[_RESERVED:])
    colours: dict[str, Colour] = {}
    for engine in sorted(set(engines)):
        stated = colour_slot(engine)
        colours[engine] = next(free_colours, _GREY) if stated is None else slot(stated)
    return colours
