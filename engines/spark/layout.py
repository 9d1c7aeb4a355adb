"""Describes the streams of an input: their types in SQL, their span of time, and their order in ties.

In all four DGS programs a few *separators* (barriers, rules, updates, read-resets: kind 1) separate many *bulk*
events (kind 0), which depend on separators only.
"""

from collections.abc import Sequence

from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import ListType, column_type

BULK, SEPARATORS = (0,), (1,)
"""The kinds of a stream with only bulk events, and of a stream with only separators."""

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


def ddl(columns: Sequence[tuple[str, str]]) -> str:
    """Return columns as a Spark schema, which saves Spark a job to infer the schema."""
    return ", ".join(f"`{name}` {_sql_type(dtype)}" for name, dtype in columns)


def _sql_type(name: str) -> str:
    type_ = column_type(name)
    if isinstance(type_, ListType):
        return f"array<{SQL_TYPES[type_.element.name]}>"
    return SQL_TYPES[type_.name]


def time_span(dataset: Dataset) -> tuple[int, int] | None:
    """Return the time of the first event, and the last time at which windows may close; None without events.

    The latter is the time of the last event, or the time just before the cut.
    """
    nonempty = [stream for stream in dataset.streams if stream.rows]
    if not nonempty:
        return None
    last_ts = max(stream.ts_max for stream in nonempty)
    return (
        min(stream.ts_min for stream in nonempty),
        last_ts if dataset.until_ts is None else dataset.until_ts - 1,
    )


def tie_classes(dataset: Dataset) -> tuple[tuple[int, ...], ...]:
    """Group the bulk streams (by index) whose events precede those of the same separator streams at equal times."""
    classes: dict[tuple[int, ...], list[int]] = {}
    for src, stream in enumerate(dataset.streams):
        if stream.kinds == BULK:
            later = tuple(
                index
                for index, other in enumerate(dataset.streams)
                if index > src and other.kinds == SEPARATORS
            )
            classes.setdefault(later, []).append(src)
    return tuple(map(tuple, classes.values()))
