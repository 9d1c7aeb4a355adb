"""Extracts the data of a run that a site's other pages need.

The data is stored as a script that calls `addRun` with JSON, since browsers load scripts from `file://` but
refuse to read JSON.
"""

from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from streamlab.reports.page.provenance import named_facts
from streamlab.reports.searches import Search
from streamlab.reports.side_by_side import recorded_facts, write_value
from streamlab.reports.summary import Cell, code_of, conditions_of, start_time
from streamlab.results.compare import METRICS, SUSTAINABLE, first_failure, sustainable, values_of
from streamlab.results.differences import by_cell
from streamlab.results.schema import IMPORTED, TrialRow
from streamlab.results.store import Run

_BEGIN, _END = b"addRun(", b");\n"


class SiteCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a run.

    Attributes:
        cell: the cell's id.
        fingerprint: fingerprint of the first trial; cells with equal fingerprints are comparable.
        conditions: the conditions of the rate; empty if undeclared.
        failure: the status if the cell has no number, else None.
        values: one value per process, by metric.
        texts: the median as text and as exact text, by metric.
    """

    cell: str
    fingerprint: str
    conditions: str
    failure: str | None
    values: dict[str, tuple[float, ...]]
    texts: dict[str, tuple[str, str]]


class SiteRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run.

    Attributes:
        name: the name of the run's directory.
        start_time: start of the run, UTC, ISO 8601.
        commit: the commit, and whether the source had changes.
        host: properties of the machine, which `streamlab.results.machines` compares.
        planned, verified: number of planned cells, and of cells with a verified number.
        trials: number of trials.
        mark: colour of the verdict (`streamlab.reports.page.statement`).
        cells: the cells with trials.
        facts: recorded facts as texts, by section and key.
    """

    name: str
    start_time: str
    commit: str
    host: dict[str, Any]
    planned: int
    verified: int
    trials: int
    mark: str
    cells: tuple[SiteCell, ...]
    facts: dict[str, str]

    @property
    def machine(self) -> str:
        """The machine in words."""
        cores = self.host.get("cores_usable")
        model = self.host.get("cpu_model") or "unknown processor"
        return f"{model}, {cores} cores" if cores else str(model)


def extract(run: Run, cells: tuple[Cell, ...], searches: tuple[Search, ...], mark: str) -> SiteRun:
    """Return the data of a run for a site; `mark` is the colour of its verdict."""
    rated = sum(cell.has_numbers and cell.status != IMPORTED for cell in cells)
    return SiteRun(
        name=run.path.resolve().name,
        start_time=start_time(run),
        commit=code_of(run),
        host=dict(run.meta.host),
        planned=max(len(run.meta.cells), len(cells) + len(searches)),
        verified=rated + sum(search.pass_eps is not None for search in searches),
        trials=len(run.rows),
        mark=mark,
        cells=tuple(_make_cell(cell, rows) for cell, rows in by_cell(run).items()),
        facts=named_facts(recorded_facts(run)),
    )


def _make_cell(cell: str, rows: list[TrialRow]) -> SiteCell:
    failure = first_failure(rows)
    values = {} if failure else _read_values(rows)
    medians = {name: write_value(name, median(numbers)) for name, numbers in values.items()}
    return SiteCell(
        cell=cell,
        fingerprint=rows[0].fingerprint or "",
        conditions=str(conditions_of(rows[0]) or ""),
        failure=failure,
        values=values,
        texts={name: (middle.text, middle.exact) for name, middle in medians.items()},
    )


def _read_values(rows: list[TrialRow]) -> dict[str, tuple[float, ...]]:
    values = {
        name: tuple(values_of(metric, rows))
        for name, metric in METRICS.items()
        if name != SUSTAINABLE
    }
    bracket = sustainable(rows)
    values[SUSTAINABLE] = bracket[:1] if bracket else ()
    return {name: numbers for name, numbers in values.items() if numbers}


def as_script(run: SiteRun) -> bytes:
    """Return a script that passes a run to the page that loads the script."""
    return _BEGIN + msgspec.json.encode(run) + _END


def read_script(path: Path) -> SiteRun | None:
    """Read the run in a script; None if the script is missing or another lab version wrote it."""
    try:
        content = path.read_bytes()
        return msgspec.json.decode(content[len(_BEGIN) : -len(_END)], type=SiteRun)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
