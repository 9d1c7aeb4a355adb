"""Reads the claims of a paper from its CSV in `claims/`: texts, systems and bounds.

| column | content |
|---|---|
| figures | the figures that make the claim, separated by spaces |
| claim | name of the claim within a figure |
| text | the claim in the lab's words |
| published, source | the paper's words and their place; empty: as in the fact |
| fact | columns that select a published number, `series: VSN/SN; quantity: latency`; may be empty |
| system, opponent | names of the paper's systems; the opponent is empty for a claim on one system |
| rule | `near`, `at most` and `at least` are about a value, `shape` is about order or growth |
| low, high | bounds; empty: as in the fact, or unbounded for `shape` |
| tolerance | share by which a value may be outside its bounds |
| unit | unit of the measured value |

Texts have fields in braces, which the figure fills; `{fact}` is the published number.
A bound may be a multiple of a field: `1.25 linear`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from streamlab.reports.published.facts import FOLDER, read_pairs, read_rows
from streamlab.results.errors import ResultsError

CLAIM_COLUMNS = (
    *("figures", "claim", "text", "published", "source", "fact"),
    *("system", "opponent", "rule", "low", "high", "tolerance", "unit"),
)
RULES = ("near", "at most", "at least", "shape")
Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """A claim: a row of the CSV (columns: `streamlab.reports.published.claims`).

    `where` is the file and line, for errors.
    """

    where: str
    figures: tuple[str, ...]
    claim: str
    text: str
    published: str
    source: str
    fact: str
    system: str
    opponent: str
    rule: str
    low: str
    high: str
    tolerance: float
    unit: str

    def fill(self, text: str, fields: Fields) -> str:
        """Fill the fields of a text.

        Raises:
            ResultsError: the figure gives no value for a field.
        """
        try:
            return text.format(**fields)
        except KeyError as error:
            raise ResultsError(f"{self.where}: {text!r} has the unknown field {error}") from error

    def fact_columns(self, fields: Fields) -> dict[str, str]:
        """Return the columns that select the claim's published number; empty without one."""
        return read_pairs(self.fill(self.fact, fields))

    def bound(self, text: str, fields: Fields, default: float) -> float:
        """Return a bound as a number.

        Raises:
            ResultsError: the figure gives no value for the bound's field.
        """
        number, _, field = text.partition(" ")
        value = float(number) if number else default
        return value * float(self.fill(f"{{{field}!r}}", fields)) if field else value


@cache
def published_claims(paper: str, folder: Path = FOLDER / "claims") -> tuple[ClaimRow, ...]:
    """Read the claims of a paper, for example `stretch`.

    Raises:
        ResultsError: the paper's file is missing, or a row is malformed.
    """
    rows = read_rows(folder / f"{paper}.csv", CLAIM_COLUMNS)
    return tuple(_parse_claim(where, row) for where, row in rows)


def _parse_claim(where: str, row: dict[str, str]) -> ClaimRow:
    """Convert a row; removes the converted columns from `row`."""
    try:
        for name in ("low", "high"):
            float(row[name].partition(" ")[0] or 0)
        read_pairs(row["fact"])
        tolerance = float(row.pop("tolerance") or 0)
    except ValueError as error:
        raise ResultsError(f"{where}: {error}") from error
    figures = tuple(row.pop("figures").split())
    if row["rule"] not in RULES or not (figures and row["claim"] and row["text"] and row["system"]):
        raise ResultsError(
            f"{where}: expected figures, a name, a text, a system, and a rule among "
            f"{', '.join(RULES)}, got {row}"
        )
    return ClaimRow(where=where, figures=figures, tolerance=tolerance, **row)
