"""Reads which parts of each paper the lab has, and writes the page that lists them.

`reports/published/coverage/<paper>.csv` has a row for each part that a paper defines or evaluates; `lab`
has the parts of the suite itself.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from streamlab.lab.figures.gallery import PAPERS
from streamlab.reports.published.facts import FOLDER, read_rows
from streamlab.results.errors import ResultsError

WORKS, PARTIAL, MISSING = "works", "partial", "missing"
STATES = {
    WORKS: "the code is there, and a test or a figure runs it",
    PARTIAL: "the code lacks what the last column says",
    MISSING: "the lab does not have it",
}
"""Meaning by state."""
HEADINGS = {**PAPERS, "lab": "The suite itself"}
COLUMNS = ("part", "state", "code", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a paper: a row of the CSV.

    Attributes:
        name: the part, with its place in the paper.
        state: a key of `STATES`.
        code: places in the repository, `path` or `path:symbol`; empty only for some missing parts.
        reason: what is lacking; empty if the part works.
    """

    name: str
    state: str
    code: tuple[str, ...]
    reason: str

    def __post_init__(self) -> None:
        if not self.name or self.state not in STATES:
            raise ValueError(f"expected a name and a state among {', '.join(STATES)}, got {self}")
        if bool(self.reason) == (self.state == WORKS):
            raise ValueError(f"{self.name} is {self.state}, with the reason {self.reason!r}")
        if not self.code and self.state != MISSING:
            raise ValueError(f"{self.name} is {self.state}, but names no code")


def read_coverage(paper: str, folder: Path = FOLDER / "coverage") -> tuple[Part, ...]:
    """Read the parts of a paper, in the order of the file.

    Raises:
        ResultsError: the file is missing, or a row is malformed.
    """
    parts = []
    for where, row in read_rows(folder / f"{paper}.csv", COLUMNS):
        places = tuple(place for place in row["code"].split("; ") if place)
        try:
            part = Part(name=row["part"], state=row["state"], code=places, reason=row["reason"])
        except ValueError as error:
            raise ResultsError(f"{where}: {error}") from error
        parts.append(part)
    return tuple(parts)


def write_page() -> Iterator[str]:
    """Yield the lines of the page: counts by paper and state, then a table for each paper.

    Raises:
        ResultsError: see `read_coverage`.
    """
    papers = {paper: read_coverage(paper) for paper in HEADINGS}
    yield from ("---", "hide: [navigation]", "---", "# Papers", "")
    yield "What the five papers define and evaluate, where it is in the code, and what is lacking."
    yield "The [gallery](gallery.md) has the results of their figures, and `reports/published/coverage` these tables."
    yield ""
    yield from (f"- *{state}*: {meaning}." for state, meaning in STATES.items())
    yield from ("", f"| paper | {' | '.join(STATES)} |", f"|---|{'--:|' * len(STATES)}")
    for paper, parts in papers.items():
        counts = Counter(part.state for part in parts)
        numbers = " | ".join(str(counts[state]) for state in STATES)
        yield f"| {HEADINGS[paper]} | {numbers} |"
    for paper, parts in papers.items():
        yield from ("", f"## {HEADINGS[paper]}", "")
        yield from ("| part | state | code | what is lacking |", "|---|---|---|---|")
        for part in parts:
            code = "<br>".join(f"`{place}`" for place in part.code)
            yield f"| {_cell(part.name)} | {part.state} | {code} | {_cell(part.reason)} |"


def _cell(text: str) -> str:
    return re.sub(r"([|*\[\]])", r"\\\1", text)
