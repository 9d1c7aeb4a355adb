"""Keeps how each search stands as `searches/<cell>.json` in the run directory.

The file is written anew after every trial, whole or not at all. It is for people and reports; a
resumed run goes by the trials' own records. It holds

    cell, settings, criteria    what was searched for, and by which rules
    over                        whether the search has ended
    bracket                     see `lab.parent.search.state.Bracket`
    probes                      every probe with rate, purpose, outcome, and verdict and reason of
                                each vote; the confirmations and levels are among them, by purpose
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lab.matrix.cells import Cell
from lab.matrix.search import SearchSettings
from lab.measure.sustained import Criteria
from lab.parent.search.errors import SearchError
from lab.parent.search.state import Bracket, Probe, State, Vote

FOLDER = "searches"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRecord:
    """A search as read from disk; `criteria` as they were then."""

    cell: str
    settings: SearchSettings
    criteria: Mapping[str, Any]
    over: bool
    bracket: Bracket
    probes: tuple[Probe, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Writes the records of one run; give it to `Searches` as `recorded`.

    Attributes:
        run_dir: the run directory.
        criteria: by which the trials are judged.
    """

    run_dir: Path
    criteria: Criteria = field(default_factory=Criteria)

    def __call__(self, cell: Cell, state: State) -> None:
        """Write how a cell's search stands."""
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
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        with partial.open("w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)


def read_searches(run_dir: Path) -> dict[str, SearchRecord]:
    """Return the searches of a run by cell id; empty where it has none.

    Raises:
        SearchError: a record is damaged.
    """
    return {record.cell: record for record in map(_read, sorted((run_dir / FOLDER).glob("*.json")))}


def _read(path: Path) -> SearchRecord:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
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
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SearchError(
            f"{path} is damaged ({error!r}); `lab run --resume {path.parent.parent}` writes "
            "it again"
        ) from error
