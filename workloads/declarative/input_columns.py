"""Finds the columns and types of an input: a table, a function that makes events, or a workload.

A table's columns get their types from its schema or, if the file holds texts, from its first rows (`header_types`).
Texts are numbered by a dictionary. Up to `max_bad` cells may be of another type. A declared type
(`types={"price": float}`) has precedence. If all columns that are read have a declared type, no file is opened.
"""

import keyword
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables import Table, TableSet
from streamlab.workloads.datasets.tables.cells import (
    can_parse,
    decode_column,
    is_text,
    use_decimal_point,
)
from streamlab.workloads.datasets.tables.header_types import (
    DTYPES,
    has_codes,
    read_header,
    type_of_cells,
)
from streamlab.workloads.datasets.tables.table import FILE, LATE, NO_COLUMN, ROW
from streamlab.workloads.datasets.user_input import InputFunction, Source
from streamlab.workloads.declarative.declaration import Column, Declaration
from streamlab.workloads.model.errors import ModelError, place_of
from streamlab.workloads.model.operators.program import RESERVED
from streamlab.workloads.name_suggestions import suggest_names

SAMPLE_ROWS = 10_000
"""Number of first rows of a table from which types are derived."""
_SMALL_EVENTS = 64
"""Number of events that a function makes for the types of its columns."""
TEXT_ID = np.dtype(np.int32)
"""The type of the numbers of texts."""
_OTHER_USES = RESERVED | {"tag"}
"""Names that a column cannot have."""
FIELD_NAMES = "names of fields are names of Python, without keywords and without _ in front"
_GUESSES = (np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.bool_))
"""Types to try for a column of texts that may have bad cells."""


_T = TypeVar("_T")


def is_field_name(name: object) -> bool:
    """Return whether generated code can read a field of this name, and named tuples can have it."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        return False
    # Python normalizes names in code, but not names of fields.
    return not name.startswith("_") and unicodedata.normalize("NFKC", name) == name


@dataclass(slots=True, kw_only=True)
class InputColumns:
    """The columns of an input.

    Attributes:
        label: the name of the input in messages.
        types: declared types by column: `int`, `float`, `bool` or `str`.
        declaration: the declaration of the workload that makes the input; None for a table or a function.
        source: the table or function; for a workload its first input, or both tables of a join.
        unit: the unit of event time.
    """

    label: str
    source: Source
    unit: str
    types: Mapping[str, type]
    declaration: Declaration | None
    # Groups of columns whose texts are numbered alike.
    _shared: list[tuple[str, ...]] = field(default_factory=list)
    # The first rows, by column; None until they are read.
    _sample: "dict[str, pa.Array] | None" = field(default=None)
    # The columns found so far, by name.
    _columns: dict[str, Column] = field(default_factory=dict)
    # The texts in expressions, which come first in the dictionaries `_named`.
    _texts: list[str] = field(default_factory=list)
    _named: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        sources = (
            self.source.by_kind.values() if isinstance(self.source, TableSet) else [self.source]
        )
        first_texts = {
            name: texts for source in sources for name, texts in source.first_texts.items()
        }
        self._named |= first_texts.keys()
        self._texts += next(iter(first_texts.values()), ())

    def find(self, name: str, place: str) -> Column:
        """Return a column.

        Raises:
            ModelError: it does not exist, or cannot be read by a program.
        """
        if name not in self._columns:
            self._columns[name] = self._find(name, place)
        return self._columns[name]

    def finder(self, place: str) -> "Finder":
        """Return the columns for expressions at a place."""
        return Finder(columns=self, place=place)

    def number_of(self, column: Column, text: str) -> int:
        """Return the number of a text in a column's dictionary, which begins with the texts in expressions."""
        assert column.dictionary is not None, "callers check that it holds texts"
        self._named.add(column.dictionary)
        if text not in self._texts:
            self._texts.append(text)
        return self._texts.index(text)

    def names(self) -> Sequence[str]:
        """Return the names of all columns that can be read."""
        if self.declaration is not None:
            return [column.name for column in self.declaration.output[1:]]
        return [
            name
            for name in self._sample_rows()
            if name not in _OTHER_USES and not self._is_ts(name)
        ]

    def not_missing(self, place: str) -> list[Column]:
        """Return the columns of `Table.skip_missing`, which must have a value in each row that counts."""
        if not isinstance(self.source, Table) or self.declaration is not None:
            return []
        return [self.find(name, place) for name in self.source.skip_missing]

    def share(self, names: Iterable[str]) -> bool:
        """Number the texts of several columns alike; return False for a workload, whose numbers are fixed."""
        if self.declaration is not None:
            return False
        group_names = {*names}
        for group in [group for group in self._shared if group_names & {*group}]:
            self._shared.remove(group)
            group_names |= {*group}
        self._shared.append(tuple(sorted(group_names)))
        return True

    def source_of(self, columns: Iterable[Column]) -> Source:
        """Return the source for a program that reads these columns, with dictionaries for their texts."""
        if isinstance(self.source, TableSet):
            return self.source.with_first_texts(self._named, self._texts)
        # Columns that are numbered alike begin with the same texts.
        same_numbering = {n for group in self._shared if self._named & {*group} for n in group}
        first_texts = dict.fromkeys(sorted(self._named | same_numbering), tuple(self._texts))
        if self.declaration is not None:
            return replace(self.source, first_texts=first_texts)
        read = {column.name: column for column in columns}
        if isinstance(self.source, InputFunction):
            texts = (name for name, column in read.items() if column.dictionary)
            ids = tuple(dict.fromkeys((*self.source.ids, *texts)))
            shared = tuple(self._shared)
            return replace(self.source, ids=ids, shared=shared, first_texts=first_texts)
        table = self.source
        assert isinstance(table, Table), "only joins, which are declared, have two"

        def keep_read(settings: Mapping[str, _T]) -> dict[str, _T]:
            """Leave out settings of columns that exist but are not read; the import reports unknown columns."""
            unread = [name for name in settings if name not in read]
            names = {*table.columns, *table.derive, *self._sample_rows()} if unread else set()
            return {name: each for name, each in settings.items() if name not in {*unread} & names}

        return replace(
            table,
            columns=keep_read(table.columns),
            fill=keep_read(table.fill),
            scale=keep_read(table.scale),
            derive=keep_read(table.derive),
            ids=tuple(name for name, column in read.items() if column.dictionary),
            shared=tuple(self._shared),
            first_texts=first_texts,
        )

    def _is_ts(self, name: str) -> bool:
        return isinstance(self.source, Table) and self._column_of(name) in self.source.times

    def _column_of(self, name: str) -> str:
        return self.source.columns.get(name, name) if isinstance(self.source, Table) else name

    def _find(self, name: str, place: str) -> Column:
        if self.declaration is not None:
            for column in self.declaration.output[1:]:
                if column.name == name:
                    return column
            raise self._unknown_column(name, place)
        if not is_field_name(name):
            raise ModelError(
                f"{place}: a program cannot read a column {name!r}; {FIELD_NAMES}: give the column another "
                f"name by columns={{'NAME': {name!r}}} of {self.label}"
            )
        if name in _OTHER_USES:
            raise ModelError(
                f"{place}: {name} is a name that every row has for another purpose; give the column "
                f'another name: columns={{"row_{name}": "{name}"}} of {self.label}'
            )
        if self._is_ts(name):
            raise ModelError(
                f"{place}: column {name} of {self.label} holds the times; read it as ts"
            )
        if name in self.types:
            if self.types[name] not in DTYPES:
                raise ModelError(
                    f"{place}: types has {self.types[name]!r} for {name}; give int, float, bool or str"
                )
            return _column(name, DTYPES[self.types[name]])
        in_file = self._column_of(name)
        if in_file == LATE and name in self._sample_rows():
            raise ModelError(
                f"{place}: {name} is the lateness of a row, and {self.label} has a column of this name; rename "
                "that column in the data"
            )
        if in_file in (FILE, ROW, LATE):
            return _column(name, None if in_file == FILE else np.dtype(np.int64))
        if in_file == NO_COLUMN:
            return _column(name, np.dtype(np.int64))
        if isinstance(self.source, Table):
            in_file = self.source.column_of(name)
        cells = self._sample_rows().get(in_file)
        if cells is None:
            raise self._unknown_column(name, place)
        if isinstance(self.source, Table) and name in self.source.ids:
            return _column(name, None)
        if isinstance(self.source, Table) and (
            name in self.source.derive or name in self.source.scale
        ):
            return _column(name, read_header(self.source, [name]).types[name])
        return _column(name, self._dtype(name, cells, place))

    def _unknown_column(self, name: str, place: str) -> ModelError:
        return ModelError(
            f"{place}: {self.label} has no column {name!r}; {suggest_names(name, self.names())}"
        )

    def _dtype(self, name: str, cells: "pa.Array", place: str) -> np.dtype[Any] | None:
        """Return the type of a column; None if it holds texts."""
        table = self.source if isinstance(self.source, Table) else None
        if table is not None:
            cells = use_decimal_point(cells, table.decimal)[0]
        dtype = type_of_cells(cells, f"{place}: column {name} of {self.label}")
        if dtype is not None or table is None or not table.max_bad or not is_text(cells.type):
            return dtype
        # `parse_numbers` would convert arrays, for which PyArrow imports pandas; trials must not import it.
        texts = [text.strip() for text in cells.to_pylist() if text is not None]
        filled = [text for text in texts if text]
        for guess in _GUESSES if filled and not has_codes(cells) else ():
            bad = (text for text in filled if not can_parse(text, guess))
            if next(islice(bad, table.max_bad, None), None) is None:
                return guess
        return None

    def _sample_rows(self) -> "dict[str, pa.Array]":
        """Return the first rows of all columns, by name in the file."""
        if self._sample is None:
            if isinstance(self.source, InputFunction):
                self._sample = _sample_of_function(self.source, self.label)
            else:
                assert isinstance(self.source, Table), "the columns of joins are declared"
                self._sample = _sample_of_table(self.source)
        return self._sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Finder:
    """The columns of an input for the expressions at a place of a declaration."""

    columns: InputColumns
    place: str

    def find(self, name: str) -> Column:
        """See `InputColumns.find`."""
        return self.columns.find(name, self.place)

    def number_of(self, column: Column, text: str) -> int:
        """See `InputColumns.number_of`."""
        return self.columns.number_of(column, text)

    @property
    def are_finite(self) -> bool:
        """Whether no float is NaN or infinite. An import refuses such values; a declared workload can make them."""
        return self.columns.declaration is None


def _column(name: str, dtype: np.dtype[Any] | None) -> Column:
    """Return a column of a type; None stands for texts."""
    if dtype is None:
        return Column(name=name, dtype=TEXT_ID, dictionary=name)
    return Column(name=name, dtype=dtype)


def _sample_of_table(table: Table) -> "dict[str, pa.Array]":
    """Return the first rows of a table, by column."""
    with closing(table.source.parts(table.source.splits()[0])) as parts:  # type: ignore[type-var]
        part = next(parts, None)
        if part is None:
            raise DatasetError(f"{table.source.label} has no rows; there is nothing to import")
        with closing(part.chunks(range(len(part.names)))) as chunks:  # type: ignore[type-var]
            chunk = next(chunks, None)
            if chunk is None or not chunk.batch.num_rows:
                raise DatasetError(f"{table.source.label} has no rows; there is nothing to import")
            rows = chunk.batch.slice(0, SAMPLE_ROWS)
            return {name: decode_column(rows.column(n)) for n, name in enumerate(part.names)}


def _sample_of_function(source: InputFunction, label: str) -> "dict[str, pa.Array]":
    """Return some events of a function, as columns without `ts`."""
    parameters = {name: parameter.default for name, parameter in source.parameters.items()}
    try:
        sample = source.function(events=_SMALL_EVENTS, seed=1, **parameters)
        if isinstance(sample, np.ndarray) and sample.dtype.names:
            sample = {name: sample[name] for name in sample.dtype.names}
        if not isinstance(sample, Mapping):
            rows = list(islice(sample, _SMALL_EVENTS))
            sample = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
        return {name: pa.array(values) for name, values in sample.items() if name != "ts"}
    except Exception as error:  # the function is the user's
        raise ModelError(
            f"{label}: the types of its columns cannot be found: {type(error).__name__}: {error}, in "
            f"{place_of(error)}; mend it, or declare them (types=...)"
        ) from error
