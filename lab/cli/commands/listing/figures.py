"""Lists the figures of papers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from streamlab.lab.figures.registry import figures, missing_needs, unusable


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRecord:
    """A figure of a paper; `lacking` has the missing workloads and engines."""

    id: str | None = None
    title: str | None = None
    shows: str | None = None
    lacking: tuple[str, ...] = ()
    error: str | None = None


def records(root: Path) -> list[FigureRecord]:
    """Return the packages of figures that fail to load, and all figures of the other packages."""
    return [FigureRecord(error=reason) for reason in unusable()] + [
        FigureRecord(
            id=figure.id,
            title=figure.title,
            shows=figure.shows,
            lacking=tuple(missing_needs(figure)),
        )
        for figure in figures()
    ]


def lines(records: Iterable[FigureRecord]) -> Iterator[str]:
    """Yield the text of records."""
    for record in records:
        if record.error is not None:
            yield f"not usable: {record.error}"
            continue
        missing_text = ", ".join(record.lacking)
        state = f"not available: missing {missing_text}" if missing_text else "available"
        yield f"{record.id}  {record.title}; {state}"
        yield f"    {record.shows}"
