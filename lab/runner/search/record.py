"""Stores the state of each search as `searches/<cell>.json` in the run directory.

The file is rewritten atomically after every trial.
It serves people and reports; a resumed run uses the trials' rows instead. It has the keys

    cell, settings, criteria    the search and its rules
    over                        true once the search has ended
    bracket                     see `streamlab.lab.runner.search.state.Bracket`
    probes                      all probes, with rate, purpose, outcome, and verdict and reason of each vote
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from streamlab.lab.matrix.cells import Cell
from streamlab.lab.matrix.load_entry import SearchSettings
from streamlab.lab.measure.sustained import Criteria
from streamlab.lab.runner.search.errors import SearchError
from streamlab.lab.runner.search.state import Bracket, Probe, State, Vote
from streamlab.results.errors import ResultsError
from streamlab.results.seal import read_sealed, remedy, write_sealed

FOLDER = "searches"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRecord:
    """A stored search, with the criteria of that time."""

    cell: str
    settings: SearchSettings
    criteria: Mapping[str, Any]
    over: bool
    bracket: Bracket
    probes: tuple[Probe, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Writes the search records of a run; pass it to `Searches` as `recorded`.

    Attributes:
        run_dir: the run directory.
        criteria: criteria of a sustained rate.
    """

    run_dir: Path
    criteria: Criteria = field(default_factory=Criteria)

    def __call__(self, cell: Cell, state: State) -> None:
        """Write the state of a cell's search."""
        assert cell.search is not None
        content = {
            "cell": cell.id,
            "settings": asdict(cell.search),
            "criteria": asdict(self.criteria),
            "over": state.next is None,
            "bracket": asdict(state.bracket),
            "probes": [asdict(probe) for probe in state.probes],
        }
        path = self.run_dir / FOLDER / f"{cell.slug}.json"
        write_sealed(self.run_dir, path, (json.dumps(content, indent=1) + "\n").encode())


def read_searches(run_dir: Path) -> dict[str, SearchRecord]:
    """Return the searches of a run by cell id; may be empty.

    Raises:
        SearchError: a record is damaged.
    """
    records = (_read(run_dir, path) for path in sorted((run_dir / FOLDER).glob("*.json")))
    return {record.cell: record for record in records}


def _read(run_dir: Path, path: Path) -> SearchRecord:
    try:
        content = json.loads(read_sealed(run_dir, path))
        settings = content["settings"]
        return SearchRecord(
            cell=content["cell"],
            settings=SearchSettings(**{**settings, "levels": tuple(settings["levels"])}),
            criteria=content["criteria"],
            over=content["over"],
            bracket=Bracket(**content["bracket"]),
            probes=tuple(
                Probe(**{**probe, "votes": tuple(Vote(**vote) for vote in probe["votes"])})
                for probe in content["probes"]
            ),
        )
    except (OSError, ValueError, KeyError, TypeError, ResultsError) as error:
        raise SearchError(f"{path} is damaged ({error!r}); {remedy(run_dir, path)}") from error
