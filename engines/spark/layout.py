"""Classifies the streams of an input by the events they carry.

In all four DGS programs a few *separators* (barriers, rules, updates, read-resets: kind 1) separate many *bulk*
events (kind 0), which depend on separators only. The fields on separators assume that shape; they have no meaning for
queries of operators (`operators/`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from streamlab.workloads.datasets.dataset import Dataset, DatasetStream
from streamlab.workloads.model import ColumnType, ListType, column_type

BULK, SEPARATOR = 0, 1

SQL_TYPES = {
    "bool": "boolean",
    "int8": "byte",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "uint8": "short",
    "uint16": "int",
    "uint32": "long",
    "uint64": "decimal(20, 0)",
    "float32": "float",
    "float64": "double",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The streams of one dataset, whose index breaks ties in event time, by the kinds they carry.

    `bulk`, `separators` and `mixed` are indices of the streams with only bulk events, with only separators, with both.
    Only events before `until_ts` belong to the input; None: all in the files.
    """

    streams: tuple[DatasetStream, ...]
    bulk: tuple[int, ...]
    separators: tuple[int, ...]
    mixed: tuple[int, ...]
    n_kinds: int
    keys: int
    until_ts: int | None = None

    @property
    def events(self) -> int:
        """Number of events of the input."""
        return sum(stream.rows for stream in self.streams)

    @property
    def span(self) -> tuple[int, int] | None:
        """The time of the first event, and the last instant that has passed; None without events.

        That instant is the last event's time, or the one before the cut, up to which windows may close.
        """
        filled = [stream for stream in self.streams if stream.rows]
        if not filled:
            return None
        last = max(stream.ts_max for stream in filled)
        return (
            min(stream.ts_min for stream in filled),
            last if self.until_ts is None else self.until_ts - 1,
        )

    def tie_classes(self) -> tuple[tuple[int, ...], ...]:
        """Group bulk streams that are ordered alike to every separator stream in ties."""
        classes: dict[tuple[int, ...], list[int]] = {}
        for src in self.bulk:
            later = tuple(separator for separator in self.separators if separator > src)
            classes.setdefault(later, []).append(src)
        return tuple(tuple(members) for members in classes.values())


def layout(dataset: Dataset) -> Layout:
    """Classify the streams of a dataset by the kinds they carry."""
    kinds = [set(stream.kinds) for stream in dataset.streams]
    return Layout(
        streams=dataset.streams,
        bulk=tuple(i for i, carried in enumerate(kinds) if carried == {BULK}),
        separators=tuple(i for i, carried in enumerate(kinds) if carried == {SEPARATOR}),
        mixed=tuple(i for i, carried in enumerate(kinds) if len(carried) > 1),
        n_kinds=len(dataset.alphabet.kinds),
        keys=dataset.alphabet.keys,
        until_ts=dataset.until_ts,
    )


def ddl(columns: Sequence[tuple[str, str]]) -> str:
    """Return columns as a Spark schema, which saves Spark a job to infer it."""
    return ", ".join(f"`{name}` {_sql_type(column_type(dtype))}" for name, dtype in columns)


def _sql_type(type_: ColumnType) -> str:
    if isinstance(type_, ListType):
        return f"array<{SQL_TYPES[type_.element.name]}>"
    return SQL_TYPES[type_.name]
