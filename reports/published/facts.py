"""Reads the published numbers of a paper."""

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from streamlab.results.errors import ResultsError

FOLDER = Path(__file__).parent
COLUMNS = (
    *("figure", "panel", "series", "quantity", "x"),
    *("low", "high", "unit", "relation", "source"),
)
RELATIONS = ("value", "ratio", "difference", "range", "at most", "at least")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A published number: a row of the CSV (columns: `streamlab.reports.published`).

    `high` is infinite without an upper bound.
    """

    figure: str
    panel: str
    series: str
    quantity: str
    x: str
    low: float
    high: float
    unit: str
    relation: str
    source: str

    @property
    def text(self) -> str:
        """The number with its unit and relation."""
        unit = "" if self.unit == "1" else f" {self.unit}"
        if self.relation == "ratio":
            unit = " \N{MULTIPLICATION SIGN}"
        if self.relation in ("at most", "difference"):
            return f"at most {self.high:,g}{unit}"
        if self.relation == "at least":
            return f"at least {self.low:,g}{unit}"
        if self.low == self.high:
            return f"{self.low:,g}{unit}"
        return f"{self.low:,g} to {self.high:,g}{unit}"


@dataclass(frozen=True, slots=True)
class Facts:
    """The published numbers of one paper, in the order of the file."""

    rows: tuple[Fact, ...]

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.rows)

    def of(self, **columns: str) -> tuple[Fact, ...]:
        """Return the facts whose columns equal these texts."""
        return tuple(
            fact
            for fact in self.rows
            if all(getattr(fact, column) == text for column, text in columns.items())
        )

    def one(self, **columns: str) -> Fact:
        """Return the only fact whose columns equal these texts.

        Raises:
            ResultsError: no fact matches, or several do.
        """
        matches = self.of(**columns)
        if len(matches) != 1:
            raise ResultsError(f"{len(matches)} published numbers have {columns}, expected one")
        return matches[0]


@cache
def published(paper: str, folder: Path = FOLDER) -> Facts:
    """Read the published numbers of a paper, for example `stretch`.

    Raises:
        ResultsError: the paper's file is missing, or a row is malformed.
    """
    rows = read_rows(folder / f"{paper}.csv", COLUMNS)
    return Facts(tuple(_parse_fact(where, row) for where, row in rows))


def read_rows(path: Path, columns: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    """Read a table with these columns; return the texts of each row with its place, for errors.

    Raises:
        ResultsError: the file is missing, has other columns, or a row has more values.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, restval="")
            if tuple(reader.fieldnames or ()) != columns:
                raise ResultsError(f"{path}: columns are {reader.fieldnames}, expected {columns}")
            rows = [(f"{path}, line {reader.line_num}", row) for row in reader]
    except OSError as error:
        raise ResultsError(f"{path}: cannot read published numbers: {error}") from error
    for where, row in rows:
        if None in row:
            raise ResultsError(f"{where}: more values than the {len(columns)} columns; use quotes")
    return rows


def read_pairs(text: str) -> dict[str, str]:
    """Return the pairs of a text such as `series: VSN/SN; quantity: latency`.

    Raises:
        ValueError: a part has no value.
    """
    parts = [part.partition(": ") for part in text.split("; ") if part]
    if not all(value for _, _, value in parts):
        raise ValueError(f"expected pairs such as `series: VSN; quantity: latency`, got {text!r}")
    return {name: value for name, _, value in parts}


def _parse_fact(where: str, row: dict[str, str]) -> Fact:
    """Convert a row; removes the converted columns from `row`."""
    try:
        low, high = float(row.pop("low")), float(row.pop("high") or math.inf)
    except ValueError as error:
        raise ResultsError(f"{where}: {error}") from error
    if row["relation"] not in RELATIONS or low > high or not row["source"]:
        raise ResultsError(
            f"{where}: expected low <= high, a source, and a relation among "
            f"{', '.join(RELATIONS)}, got {row} from {low:g} to {high:g}"
        )
    return Fact(low=low, high=high, **row)
