"""Reads the records of figures in a folder, and records failed attempts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from streamlab.lab.errors import FigureError
from streamlab.lab.figures.figure import Figure
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.record import command
from streamlab.lab.figures.verdict import Claim

_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A figure's run: the name of the run's folder below LAB_RUNS, and the lab's revision.

    `dirty` means uncommitted changes.
    """

    run: str
    commit: str | None
    dirty: bool

    @property
    def revision(self) -> str:
        """The revision in short."""
        return (self.commit or "unknown")[:12] + (" and changes" if self.dirty else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFigure:
    """A figure's record, without fields that only programs outside the lab read.

    Attributes:
        measured_at: start of the last trial, UTC, ISO 8601.
        command: the command that makes the figure again.
        text: the verdict with its conditions.
        warnings: the trials' warnings, for example on other work on the machine.
        trials: number of trials by status.
    """

    figure: str
    measured_at: str
    command: str
    verdict: str
    indicates: str
    text: str
    conditions: str
    reason: str
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    options: Options
    machines: tuple[str, ...]
    trials: Mapping[str, int]
    runs: tuple[StoredRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed attempt to make a figure."""

    figure: str
    made_at: str
    command: str
    reason: str


def read_figure(figure: Figure, folder: Path) -> StoredFigure | None:
    """Read a figure's record; None without one.

    Raises:
        FigureError: the record is damaged, or another version of the lab wrote it.
    """
    return _read(folder / f"{figure.slug}.json", StoredFigure)


def read_failure(figure: Figure, folder: Path) -> Failure | None:
    """Read the record of a failed attempt; None if no attempt has failed since the figure was made.

    Raises:
        FigureError: the file is damaged.
    """
    return _read(_failure_path(figure, folder), Failure)


def write_failure(figure: Figure, options: Options, reason: str, folder: Path) -> None:
    """Record a failed attempt to make a figure."""
    failure = Failure(
        figure=figure.id,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command(figure, options),
        reason=reason,
    )
    folder.mkdir(parents=True, exist_ok=True)
    content = msgspec.json.format(msgspec.json.encode(failure), indent=1)
    _failure_path(figure, folder).write_bytes(content + b"\n")


def clear_failure(figure: Figure, folder: Path) -> None:
    """Remove the record of a failure."""
    _failure_path(figure, folder).unlink(missing_ok=True)


def _failure_path(figure: Figure, folder: Path) -> Path:
    return folder / f"{figure.slug}.failure.json"


def _read(path: Path, kind: type[_Kind]) -> _Kind | None:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError as error:
        raise FigureError(
            f"{path} is not a record of this version of the lab: {error}; remove it, and make the "
            "figure again"
        ) from error
