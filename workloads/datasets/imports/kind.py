"""What an import kind is: how its lines are read, and what dataset comes out of its rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.model import Alphabet, ColumnType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Row = tuple[int, *tuple[Any, ...]]
"""(ts, further columns as `ImportKind.columns` says)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One stream to be written.

    Attributes:
        name: of the stream.
        kinds: kind indices in it.
        frame: has the columns of `dtypes`, and those of `order`.
        dtypes: columns to write, by name; of a `ListType` where the frame has arrays.
        order: columns to sort by; the first is `ts`, and together they are unique, so that the
            stream is the same however Spark computed it.
    """

    name: str
    kinds: tuple[int, ...]
    frame: "DataFrame"
    dtypes: Mapping[str, ColumnType]
    order: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dictionary:
    """A dictionary to be written beside the dataset: what the ids stand for.

    Attributes:
        name: of the file, without suffix.
        column: the text column of the staged rows; ids count its values by first appearance.
    """

    name: str
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportKind:
    """One kind of raw file.

    Attributes:
        name: as typed, e.g. `access-log`.
        workload: whose input it becomes.
        help: one line for people.
        source: where such data usually comes from.
        licence: licence text of it.
        columns: columns of a row after `ts`, as (name, Arrow type name).
        parse: a row from (line number, text); None for a header. Raises `BadRowError`.
        dictionaries: the text columns to be encoded.
        keys: which dictionary's ids are the keys.
        streams: the streams, in order of ties, from rows with columns `row`, `ts`, those of
            `columns`, and `<dictionary>_id` for each dictionary; and the number asked for.
        alphabet: kinds and keys for a number of keys.
    """

    name: str
    workload: str
    help: str
    source: str
    licence: str
    columns: tuple[tuple[str, str], ...]
    parse: Callable[[int, str], Row | None]
    dictionaries: tuple[Dictionary, ...]
    keys: str
    streams: Callable[["DataFrame", int], tuple[Table, ...]]
    alphabet: Callable[[int], Alphabet]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What a person may choose.

    Attributes:
        files: raw files, read one after the other.
        streams: number of physical streams to split into.
        max_bad: so many bad rows are left out; one more fails.
        sort: sort by time instead of refusing files that are not sorted.
        source: overrides the kind's text.
        licence: overrides the kind's text.
    """

    files: tuple[Path, ...]
    streams: int = 1
    max_bad: int = 0
    sort: bool = False
    source: str | None = None
    licence: str | None = None
