"""Lists stored runs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from streamlab.reports.numbers import number_of
from streamlab.results.errors import ResultsError
from streamlab.results.store import list_runs, read_meta


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A stored run; for an imported run, `imported` is the tool that measured it."""

    name: str
    path: str
    cells: int | None = None
    commit: str | None = None
    complete: bool | None = None
    imported: str | None = None
    error: str | None = None


def records(root: Path) -> list[RunRecord]:
    """Return the runs in a folder, sorted by name."""
    return [_record(run_dir) for run_dir in list_runs(root)]


def _record(run_dir: Path) -> RunRecord:
    name, path = run_dir.name, str(run_dir)
    try:
        meta = read_meta(run_dir)
    except ResultsError as error:
        return RunRecord(name=name, path=path, error=str(error))
    return RunRecord(
        name=name,
        path=path,
        cells=len(meta.cells),
        commit=meta.vcs.commit,
        complete=meta.complete,
        imported=None if meta.imported is None else str(meta.imported.get("tool")),
    )


def lines(records: Iterable[RunRecord]) -> Iterator[str]:
    """Yield the text of records."""
    for record in records:
        if record.error is not None:
            yield f"{record.path}  {record.error}"
            continue
        state = "complete" if record.complete else "incomplete; lab run --resume"
        if record.imported is not None:
            state = f"imported from {record.imported}"
        commit = (record.commit or "no commit")[:12]
        yield f"{record.path}  {number_of(record.cells or 0, 'cell')}, {commit}, {state}"
