"""Finds the columns that a declared join reads, and translates `on` and `select` to fields and expressions."""

import ast
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables import Table
from streamlab.workloads.datasets.tables.header_types import DTYPES, Header, read_header
from streamlab.workloads.declarative.declaration import LEFT, MATCHED, RIGHT, TIME, Column
from streamlab.workloads.declarative.expressions import parse_expression
from streamlab.workloads.join_program import JoinColumn, JoinValue
from streamlab.workloads.model import ModelError

On = str | tuple[str, str] | Sequence[str | tuple[str, str]]
Place = tuple[str, str]
"""A side and a column of its table."""

_RESERVED = frozenset({"ts", "kind", "key", "input", "left", "tuples", MATCHED})
"""Names that a field cannot have: attributes of events and windows, and a column of the output."""
_INT, _TEXT_ID = np.dtype(np.int64), np.dtype(np.int32)
_PATHS = (
    "'left.COLUMN', 'right.COLUMN' or an expression of them, such as 'left.price - right.price'"
)


@dataclass(slots=True, kw_only=True)
class JoinColumns:
    """The columns that a join reads.

    Attributes:
        sides: the table of each side.
        keys: the key fields, which are equal on both sides.
        columns_of_keys: by side: the table's column of each key field.
        columns: all other fields.
        sources: for each field in `columns`, by name: the table's column.
        values: the columns of the output after `ts` and the keys.
        texts: texts in expressions, which get the lowest numbers of the `text_dictionaries`.
        text_dictionaries: the dictionaries of columns that expressions compare with texts.
    """

    sides: Mapping[str, Table]
    keys: tuple[Column, ...] = ()
    columns_of_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    columns: list[JoinColumn] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    values: list[JoinValue] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    text_dictionaries: set[str] = field(default_factory=set)
    # By side: the names of all columns; the types of the columns to read (None: text).
    _names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _types: Mapping[str, dict[str, np.dtype[Any] | None]] = field(default_factory=dict)
    # The field of each column that has one.
    _read: dict[Place, Column] = field(default_factory=dict)

    @classmethod
    def resolve(
        cls,
        sides: Mapping[str, Table],
        on: On,
        select: Mapping[str, str] | None,
        types: Mapping[str, type],
    ) -> "JoinColumns":
        """Return the columns of a join.

        Raises:
            ModelError: an argument does not fit the tables.
            DatasetError: a table cannot be read.
        """
        join = cls(sides=sides)
        pairs = _pairs(on)
        keys = {side: tuple(pair[index] for pair in pairs) for index, side in enumerate(sides)}
        join.columns_of_keys = keys
        join._names = {side: (*join._header(side, []).names, *sides[side].times) for side in sides}
        texts = join._select_all(keys) if select is None else dict(select)
        places = {(side, name) for side, names in keys.items() for name in names}
        for name, text in texts.items():
            places |= {*join._columns_of(name, text)}
        join._types = {
            side: dict(
                join._header(
                    side, sorted(c for s, c in places if s == side and c not in table.times)
                ).types
            )
            for side, table in sides.items()
        }
        join._declare(types)
        join.keys = tuple(join._key(pair) for pair in pairs)
        for index, key in enumerate(join.keys):
            if key.name in [other.name for other in join.keys[:index]]:
                raise ModelError(f"lab.join: on has {keys[LEFT][index]} of the left table twice")
            join._read |= {(side, keys[side][index]): key for side in sides}
        for name, text in texts.items():
            join._add_value(name, text)
        return join

    def find(self, name: str) -> Column:
        """Return a column by its path, such as `left.price`."""
        side, _, column = name.partition(".")
        source = self._field((side, column), f"{side}_{column}")
        return Column(name=name, dtype=source.dtype, dictionary=source.dictionary)

    def number_of(self, column: Column, text: str) -> int:
        """Return the number of a text in a column's dictionary, which begins with the texts in expressions."""
        assert column.dictionary is not None, "callers check that it holds texts"
        self.text_dictionaries.add(column.dictionary)
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    @property
    def are_finite(self) -> bool:
        """Whether no float is NaN or infinite. True, because inputs have no such floats."""
        return True

    def _header(self, side: str, columns: Sequence[str]) -> Header:
        try:
            return read_header(self.sides[side], columns)
        except DatasetError as error:
            raise DatasetError(f"lab.join: {error}") from None

    def _declare(self, types: Mapping[str, type]) -> None:
        """Set the declared types of columns."""
        read = {name for types_of_side in self._types.values() for name in types_of_side}
        for name, kind in types.items():
            if name not in read or kind not in DTYPES:
                raise ModelError(
                    f"lab.join: types has {kind!r} for {name}; give int, float, bool or str for one of "
                    f"{', '.join(sorted(read))}"
                )
            for types_of_side in self._types.values():
                types_of_side.update({name: DTYPES[kind]} if name in types_of_side else {})

    def _key(self, pair: tuple[str, str]) -> Column:
        """Return the key field of a pair of columns; raises `ModelError` unless they hold whole numbers or texts."""
        types = [self._types[side][column] for side, column in zip(self.sides, pair, strict=True)]
        for side, column, dtype in zip(self.sides, pair, types, strict=True):
            if dtype not in (_INT, None):
                raise ModelError(
                    f"lab.join: column {column} of {self.sides[side].label} holds {dtype}; join on whole "
                    "numbers or texts"
                )
        name = identifier(pair[0])
        if types == [_INT, _INT]:
            return Column(name=name, dtype=_INT)
        return Column(name=name, dtype=_TEXT_ID, dictionary=name)

    def _select_all(self, keys: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
        """Return a selection of all columns except the keys."""
        taken = {identifier(key) for key in keys[LEFT]}
        columns: dict[str, str] = {}
        for side in self.sides:
            for column in self._header(side, []).names:
                if column not in keys[side]:
                    name = identifier(column)
                    name = identifier(f"{side}_{column}") if name in {*columns, *taken} else name
                    columns[name] = f"{side}.{column}"
        return columns

    def _parse_path(self, text: str) -> Place | None:
        """Return the column that a text names; None if it is an expression."""
        side, dot, column = text.partition(".")
        if not dot or side not in self.sides:
            return None
        return (side, column) if column in self._names[side] or column.isidentifier() else None

    def _columns_of(self, name: str, text: object) -> Iterator[Place]:
        """Yield the columns that a selected value reads."""
        where = f"lab.join: select has {name!r}: {text!r}"
        place = self._parse_path(text) if isinstance(text, str) else None
        if place is not None:
            yield place
            return
        try:
            tree = ast.parse(str(text).strip(), mode="eval")
        except SyntaxError:
            raise ModelError(f"{where}; give {_PATHS}") from None
        columns = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        sides = [node.value for node in columns]
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and (node.id not in self.sides or node not in sides):
                raise ModelError(f"{where}; give {_PATHS}")
        if not columns or not isinstance(text, str):
            raise ModelError(f"{where}; give {_PATHS}")
        for node in columns:
            if isinstance(node.value, ast.Name):
                yield node.value.id, node.attr

    def _add_value(self, name: str, text: str) -> None:
        """Add a column of the output."""
        if identifier(name) != name:
            raise ModelError(
                f"lab.join: select names a field {name!r}; give a Python name other than "
                f"{', '.join(sorted(_RESERVED))}"
            )
        place = self._parse_path(text)
        keys = [key.name for key in self.keys]
        if (
            name in keys
            and place is not None
            and self._read.get(place) == self.keys[keys.index(name)]
        ):
            return
        if name in keys:
            raise ModelError(
                f"lab.join: field {name} of select has the name of a key; give another name"
            )
        if place is None:
            expression = parse_expression(text, self, f"lab.join: select {name}")
            code = re.sub(r"\bt\.(left|right)\.(\w+)", self._code_of, expression.code)
            declared = re.sub(r"\b(left|right)\.(\w+)", self._code_of, expression.text)
            value = Column(name=name, dtype=expression.dtype)
        else:
            column = self._field(place, name)
            code = declared = f"{place[0]}.{column.name}"
            value = replace(column, name=name)
        self.values.append(JoinValue(column=value, code=code, text=declared))

    def _code_of(self, path: re.Match[str]) -> str:
        """Return the path of the field for a match of a column's path."""
        return f"{path[1]}.{self._read[path[1], path[2]].name}"

    def _field(self, place: Place, name: str) -> Column:
        """Return the field of a column. A new field gets the name `name`, unless another field or column has it."""
        if place in self._read:
            return self._read[place]
        side, source = place
        if source in self.sides[side].times:
            column = TIME
        else:
            # In a DGS program an event of a side has each field for which its table has a column. So
            # a field must not have the name of a column of the other side.
            reserved_names = {
                *self._names[RIGHT if side == LEFT else LEFT],
                *(key.name for key in self.keys),
            }
            field_name = identifier(f"{side}_{name}" if name in reserved_names else name)
            while field_name in {*reserved_names, *self.sources}:
                field_name += "_"
            dtype = self._types[side][source]
            column = Column(
                name=field_name,
                dtype=_TEXT_ID if dtype is None else dtype,
                dictionary=field_name if dtype is None else None,
            )
            self.columns.append(JoinColumn(side=side, column=column))
            self.sources[field_name] = source
        self._read[place] = column
        return column


def identifier(text: str) -> str:
    """Return a text as the name of a field."""
    name = re.sub(r"\W", "_", text)
    if not name or name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if name in _RESERVED or keyword.iskeyword(name) else name


def _pairs(on: On) -> list[tuple[str, str]]:
    """Return the pairs of columns (left, right) with equal values."""
    entries = on if isinstance(on, list) else [on]
    pairs = [(entry, entry) if isinstance(entry, str) else entry for entry in entries]
    are_pairs = [
        isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(name, str) for name in pair)
        for pair in pairs
    ]
    if not pairs or not all(are_pairs):
        raise ModelError(
            f"lab.join: on is {on!r:.60}; give a column, a tuple (left column, right column), or a list of them"
        )
    return pairs  # type: ignore[return-value]
