"""Computes fingerprints of cells: hashes of all conditions that must be equal, except machine and code.

`streamlab.results.machines` compares machines, with tolerances that a hash cannot express.
"""

import hashlib
import json

from streamlab.json_value import JsonObject, JsonValue
from streamlab.results.schema import TrialRow
from streamlab.results.store import Run

FREE = ("repetitions", "timeout_s", "workload")
"""Fields of a cell that fingerprints exclude; the dataset's id covers the workload."""


def conditions_of_cell(
    described: JsonObject, dataset: str | None, isolation: JsonValue, program: str | None
) -> dict[str, JsonValue]:
    """Return, by name, all conditions that must be equal for a comparison.

    `described` is the cell as in run.json (`streamlab.lab.matrix.cells.describe`). `program` is the workload's
    name if the dataset was made for another workload, else None.
    """
    content = {key: value for key, value in described.items() if key not in FREE}
    content |= {"dataset": dataset, "isolation": isolation}
    return content if program is None else content | {"program": program}


def fingerprint(content: JsonObject) -> str:
    """Return a short hash of JSON values: 16 hex digits."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def content_of(run: Run, row: TrialRow) -> dict[str, JsonValue]:
    """Return the conditions of a stored trial that must be equal, as far as run.json records them."""
    described = run.meta.cells.get(row.cell) or {}
    isolation = run.meta.settings.get("isolation")
    return conditions_of_cell(described, row.dataset, isolation, None)
