"""Defines marks for cells whose numbers need a visible verdict.

An engine that did not keep up with an offered rate, or was never steady, still gave right answers with a
consistent clock. So its numbers are shown, but always with a mark.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from streamlab.results.schema import IMPORTED, MEASURED, OK, UNSTEADY, UNSUSTAINED


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A one-character sign and its meaning."""

    sign: str
    meaning: str


MARKS: Mapping[str, Mark] = {
    UNSUSTAINED: Mark(
        sign="\N{BLACK UP-POINTING TRIANGLE}",
        meaning="the engine did not keep up with the rate, so waiting grows as long as the load "
        "lasts: its latencies belong to this length of window and are not a property of the engine",
    ),
    UNSTEADY: Mark(
        sign="\N{ALMOST EQUAL TO}",
        meaning="no steady state was reached, so another window may give other numbers",
    ),
    IMPORTED: Mark(
        sign="\N{WHITE DIAMOND}",
        meaning="another program measured it, and its answer was never checked",
    ),
}
assert frozenset(MARKS) | {OK} == MEASURED


def sign(status: str) -> str:
    """Return the sign of a status; empty if the status needs no mark."""
    return MARKS[status].sign if status in MARKS else ""


def append_mark(text: str, status: str) -> str:
    """Append the sign of a status to a text, if the status needs a mark."""
    return f"{text} {sign(status)}".strip()
