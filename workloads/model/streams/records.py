"""Makes plain Python records: mutable objects whose attributes are the fields of a structured dtype.

Programs use these in the reference engine, the plan interpreter and the checker. Integers are Python
integers, and raise where compiled ones would wrap: see `field_values`. Events are named tuples, and so
read-only.
"""

from collections import namedtuple
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.dgs.program import DGSProgram, Record
from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.streams.field_values import checked_property, slot_of, zeros
from streamlab.workloads.model.streams.stream import Columns

_LONGEST_SHOWN = 64
"""Largest size of an array that is shown completely."""
_MAX_SHOWN = 16
"""Number of nonzero elements that are shown of a larger array."""

Types = tuple[tuple[str, str], ...]
"""Names of integer fields with the codes of their types."""


class RecordType:
    """Makes, copies and compares records of one structured dtype.

    Scalar fields start as 0 (or 0.0, False); array fields are NumPy arrays of zeros.
    """

    def __init__(self, name: str, dtype: np.dtype[np.void]) -> None:
        """Build the record class; `name` is for messages."""
        names = dtype.names
        assert names is not None, "programs check that their dtypes are structured"
        self.name = name
        self.dtype = dtype
        self.fields: tuple[str, ...] = names
        self.cls: type[Any] = record_class(name, names, types_of(dtype))
        # Zeros go directly into the slots, because they need no check.
        self._zeros = tuple(
            (slot_of(field) if dtype[field].kind in "iu" else field, _zero(name, field, dtype))
            for field in names
        )

    def zeroed(self) -> Record:
        """Return a new record with all fields zero."""
        record = self.cls()
        for slot, zero in self._zeros:
            setattr(record, slot, zero() if callable(zero) else zero)
        return record

    def copy(self, record: Record) -> Record:
        """Return an independent copy."""
        twin = self.cls()
        for field in self.fields:
            value = getattr(record, field)
            setattr(twin, field, value.copy() if isinstance(value, np.ndarray) else value)
        return twin

    def values(self, record: Record) -> tuple[Any, ...]:
        """Return all fields as a comparable, hashable tuple; arrays become nested tuples."""
        return tuple(_plain(getattr(record, field)) for field in self.fields)

    def equal(self, a: Record, b: Record) -> bool:
        """Return whether all fields are equal, floats exactly."""
        return all(_equal(getattr(a, field), getattr(b, field)) for field in self.fields)

    def words(self, record: Record) -> str:
        """Return the record in words, e.g. `counter(count=3)`; long arrays show nonzero elements only."""
        parts = (f"{field}={_words(getattr(record, field))}" for field in self.fields)
        return f"{self.name}({', '.join(parts)})"


class _Record:
    """Base of all record classes.

    Records can be pickled although their classes cannot be imported, because engines store state between runs.
    """

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()
    _types: ClassVar[Types] = ()

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)}" for name in self._fields)
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        values = [getattr(self, name) for name in self._fields]
        return _record, (type(self).__name__, self._fields, self._types, values)


def types_of(dtype: np.dtype[np.void]) -> Types:
    """Return the integer fields of a structured dtype, for `record_class`."""
    names = dtype.names or ()
    return tuple((name, dtype[name].str) for name in names if dtype[name].kind in "iu")


@lru_cache(maxsize=256)
def record_class(name: str, fields: tuple[str, ...], types: Types) -> type[Any]:
    """Return the class of records with these attributes; assignments to attributes in `types` are checked."""
    integers = {field: np.dtype(code) for field, code in types}
    members: dict[str, object] = {
        "__slots__": tuple(slot_of(field) if field in integers else field for field in fields),
        "_fields": fields,
        "_types": types,
    }
    for field, dtype in integers.items():
        members[field] = checked_property(f"field {field} of {name}", slot_of(field), dtype)
    return type(name, (_Record,), members)


def _record(name: str, fields: tuple[str, ...], types: Types, values: Sequence[Any]) -> Record:
    record = record_class(name, fields, types)()
    for field, value in zip(fields, values, strict=True):
        setattr(record, field, value)
    return record


class Emitter:
    """Collects the outputs of updates as tuples; implements `out` in a program."""

    __slots__ = ("_width", "emit", "rows")

    def __init__(self, output: np.dtype[np.void]) -> None:
        """Start without rows; `output` is the program's output dtype."""
        self.rows: list[tuple[Any, ...]] = []
        assert output.names is not None, "programs check that their dtypes are structured"
        self._width = len(output.names)
        append = self.rows.append

        def emit(*fields: Any) -> None:
            append(fields)

        # A closure in a slot avoids lookups on self, which saves a tenth of the loop.
        self.emit = emit

    def take(self) -> list[tuple[Any, ...]]:
        """Return the rows so far and start over."""
        rows = list(self.rows)
        self.rows.clear()
        return rows

    def columns(self, output: np.dtype[np.void]) -> Columns:
        """Return the rows as columns of the output dtype.

        Raises:
            ProgramError: A row has a wrong number of fields, or a value is not an integer of its field's
                type.
        """
        for row in self.rows:
            if len(row) != self._width:
                raise ProgramError(
                    f"out.emit got {len(row)} fields {row}; the output has {output.names}"
                )
        return rows_to_columns(self.rows, output)


def rows_to_columns(rows: Sequence[tuple[Any, ...]], dtype: np.dtype[np.void]) -> Columns:
    """Return tuples as columns of a structured dtype; exact for integers up to 64 bits.

    Raises:
        ProgramError: A value is not an integer of its field's type.
    """
    names = dtype.names or ()
    parts: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return {name: column(name, part, dtype) for name, part in zip(names, parts, strict=True)}


def column(
    name: str, values: Sequence[Any] | npt.NDArray[Any], dtype: np.dtype[np.void]
) -> npt.NDArray[Any]:
    """Return values as a column of a field's type; integer fields accept floats without a fraction.

    Raises:
        ProgramError: The field is of integers, and a value is not an integer of its type.
    """
    kind = dtype[name]
    if kind.kind not in "iu":
        return np.asarray(values, dtype=kind)
    raw = np.asarray(values)
    if raw.dtype.kind in "fO" and not isinstance(values, np.ndarray):
        raw = np.array([_shorten(value) for value in values], dtype=object)
    with np.errstate(invalid="ignore"), suppress(OverflowError, TypeError, ValueError):
        converted = raw.astype(kind, copy=False)
        if np.array_equal(converted, raw):
            return converted
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    wrong = next(
        value
        for value in raw.tolist()
        if not (isinstance(whole := _shorten(value), int | np.integer) and low <= whole <= high)
    )
    raise ProgramError(
        f"output field {name} is of type {kind} and got {wrong!r}; round it, or give the "
        "field a type that has it"
    )


def _shorten(value: Any) -> Any:
    """Return a float without a fraction as an integer, and other values unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


@lru_cache(maxsize=64)
def event_type(payload: np.dtype[np.void]) -> Any:
    """Return the named-tuple class of events with a payload: `ts`, `kind`, `key`, payload."""
    # typing.NamedTuple does not support fields that are known only at run time.
    return namedtuple("event", ("ts", "kind", "key", *(payload.names or ())))


@lru_cache(maxsize=64)
def tuple_type(names: tuple[str, ...]) -> Any:
    """Return the named-tuple class of an operator's input tuples: `ts`, `input`, then `names`.

    They can be pickled like records, because windows store them.
    """
    members = {"__slots__": (), "__reduce__": _reduce}
    return type("tuple_", (namedtuple("tuple_", ("ts", "input", *names)),), members)


def _reduce(t: Any) -> tuple[Any, ...]:
    return _tuple, (t._fields[2:], tuple(t))


def _tuple(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return tuple_type(names)._make(values)


@lru_cache(maxsize=64)
def record_type(names: tuple[str, ...]) -> Any:
    """Return the named-tuple class of a pipeline's records: `ts`, then `names`."""
    return namedtuple("record", ("ts", *names))


@lru_cache(maxsize=64)
def _type_of(name: str, dtype: np.dtype[np.void]) -> RecordType:
    return RecordType(name, dtype)


def state_records(program: DGSProgram) -> dict[str, RecordType]:
    """Return the record type of every state type and `across`, by name."""
    records = {state.name: _type_of(state.name, state.dtype) for state in program.states}
    return records | {across.name: _type_of(across.name, across.dtype) for across in program.across}


def initial_state(program: DGSProgram) -> Record:
    """Return a new initial state."""
    first = program.states[0]
    state = _type_of(first.name, first.dtype).zeroed()
    program.init(state)
    return state


def _zero(name: str, field: str, record: np.dtype[np.void]) -> Any:
    """Return the zero of a field: a value, or a function that makes one for an array."""
    dtype = record[field]
    if dtype.subdtype is not None:
        return partial(zeros, f"field {field} of {name}", dtype)
    return np.zeros((), dtype=dtype).item()


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):  # fast, as a state may have 100,000 elements
        return np.array_equal(a, b)
    return bool(a == b)


def _words(value: Any) -> str:
    if not isinstance(value, np.ndarray) or value.size <= _LONGEST_SHOWN:
        return str(_plain(value))
    plain = np.asarray(value)
    indices = np.argwhere(plain)
    shown = [
        f"[{', '.join(map(str, place))}]={plain[tuple(place)]}"
        for place in indices[:_MAX_SHOWN].tolist()
    ]
    hidden = [f"and {len(indices) - _MAX_SHOWN} more"] if len(indices) > _MAX_SHOWN else []
    return f"{{{', '.join([*shown, *hidden])}}}"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return tuple(_plain(item) for item in value.tolist())
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    return value.item() if isinstance(value, np.generic) else value
