"""Implements stored tuples in compiled code: `w[i].tuples`, the deque of a window instance.

The C++ struct behind it is in core/oplus/stored_tuples.h.
A stored tuple is a record of its time, the operator's scalar fields and its input. Reading returns the named tuple
that kernels build from a stream's row.
The core makes room for one more tuple before it calls f_U. An f_U that appends more to one deque raises if there is no
room, and never writes out of bounds.
"""

import operator as python
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils as _cgutils
from numba.core import imputils as _imputils
from numba.core.extending import models, register_model
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.np.numpy_support import from_dtype

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.kernels.inline_functions import implement
from streamlab.engines.multicore.kernels.intrinsics import (
    BYTE,
    BYTES,
    WORD,
    Code,
    intrinsic,
    named_type,
)
from streamlab.engines.multicore.kernels.memory import STORED
from streamlab.workloads.model import Operator

# Numba does not type these parts of its extension interface.
cgutils: Any = _cgutils
imputils: Any = _imputils
_kinds: Any = types
_SimpleIterator: Any = _kinds.SimpleIteratorType

TUPLES_WORDS = _core.STORED_TUPLES_BYTES // 8


def stored_dtype(operator: Operator) -> np.dtype[np.void]:
    """Return the dtype of a stored tuple: time, scalar fields, input."""
    fields: list[tuple[str, Any]] = [("ts", np.int64)]
    fields += [(name, operator.fields[name]) for name in operator.fields.names or ()]
    return np.dtype([*fields, ("input", np.int8)], align=True)


class DequeType(types.IterableType):
    """Numba type of the stored tuples of one window instance.

    Args:
        record: dtype of a stored tuple.
        named_tuple: class of the named tuple, with the fields `ts`, `input` and those of the record.
    """

    def __init__(self, record: np.dtype[np.void], named_tuple: type) -> None:
        self.record = record
        names: tuple[str, ...] = named_tuple._fields  # type: ignore[attr-defined]
        self.order = tuple((name, from_dtype(record[name])) for name in names if name != "input")
        kinds = [kind for _, kind in self.order]
        element_types = [kinds[0], types.int64, *kinds[1:]]
        self.tuple_type = _kinds.BaseTuple.from_types(element_types, named_tuple)
        super().__init__(name=f"StoredTuples({record}, {self.tuple_type})")

    @property
    def key(self) -> Any:
        """Identity of the type in Numba."""
        return str(self.record), self.tuple_type

    @property
    def iterator_type(self) -> Any:
        """Numba type of an iterator over the tuples."""
        return _DequeIterator(self)


class _DequeIterator(_SimpleIterator):  # type: ignore[misc]  # Numba's gap
    def __init__(self, deque: DequeType) -> None:
        self.deque = deque
        super().__init__(f"iter({deque.name})", deque.tuple_type)

    @property
    def key(self) -> Any:
        return self.deque


class StoringRecord(types.Record):
    """Numba type of a window instance's record with the attribute `tuples`."""

    def __init__(self, record: types.Record, deque: DequeType) -> None:
        fields: Any = [(name, field._asdict()) for name, field in record.fields.items()]
        super().__init__(fields, record.size, record.aligned)
        self.deque = deque

    @property
    def key(self) -> Any:
        """Identity of the type in Numba."""
        return super().key, self.deque


register_model(StoringRecord)(models.RecordModel)


@register_model(DequeType)
class _DequeModel(models.PrimitiveModel):
    """Represents the deque as a pointer to the C++ struct."""

    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, WORD.as_pointer())  # type: ignore[no-untyped-call]  # Numba's gap


@register_model(_DequeIterator)
class _DequeIteratorModel(models.StructModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        members = [("at", _kinds.CPointer(types.voidptr)), ("end", types.voidptr)]
        super().__init__(dmm, fe_type, members)  # type: ignore[no-untyped-call]  # Numba's gap


@infer_getattr
class _TuplesOfRecord(AttributeTemplate):
    key = StoringRecord

    def resolve_tuples(self, record: StoringRecord) -> DequeType:
        return record.deque


def _deque_in(builder: Any, window: Any) -> Any:
    """Return the address of the deque of the window instance at an address."""
    at = builder.gep(builder.bitcast(window, BYTES), [WORD(_core.STORED_TUPLES_AT)])
    return builder.bitcast(at, WORD.as_pointer())


@imputils.lower_getattr(StoringRecord, "tuples")  # type: ignore[untyped-decorator]  # Numba's gap
def _tuples_of_record(context: Any, builder: Any, typ: Any, value: Any) -> Any:
    return _deque_in(builder, value)


@intrinsic(lambda address, like: named_type(like)(types.voidptr, like))
def deque_at(code: Code, address: Any, like: Any) -> Any:
    """`deque_at(address, DEQUE)`: the deque of the window instance at `address`."""
    return _deque_in(code.builder, address)


def _size(code: Code, deque: Any) -> Any:
    """Return the size of the stored tuples in bytes."""
    return code.builder.sub(code.word(deque, STORED.last), code.word(deque, STORED.first))


def _field(context: Any, builder: Any, kind: DequeType, at: Any, name: str, field: Any) -> Any:
    """Return the address of a field of Numba type `field` in the record at `at`."""
    place = builder.gep(at, [WORD(kind.record.fields[name][1])])  # type: ignore[index]
    return builder.bitcast(place, context.get_data_type(field).as_pointer())


def _read(context: Any, builder: Any, kind: DequeType, at: Any) -> Any:
    """Return the named tuple of a stored record."""
    managers = context.data_model_manager

    def load(name: str, field: Any) -> Any:
        return managers[field].from_data(
            builder, builder.load(_field(context, builder, kind, at, name, field))
        )

    values = [load(name, field) for name, field in kind.order]
    origin = builder.sext(load("input", types.int8), WORD)
    return context.make_tuple(builder, kind.tuple_type, [values[0], origin, *values[1:]])


@intrinsic(lambda deque: types.int64(deque))
def _count(code: Code, deque: Any) -> Any:
    size = WORD(code.kinds[0].record.itemsize)
    return code.builder.sdiv(_size(code, deque), size, flags=["exact"])


@intrinsic(lambda deque: types.boolean(deque))
def _some(code: Code, deque: Any) -> Any:
    return code.builder.icmp_signed("!=", _size(code, deque), WORD(0))


@intrinsic(lambda deque, index: deque.tuple_type(deque, types.int64))
def _item(code: Code, deque: Any, index: Any) -> Any:
    kind = code.kinds[0]
    away = code.builder.mul(index, WORD(kind.record.itemsize))
    first = code.pointer(deque, STORED.first)
    return _read(code.context, code.builder, kind, code.builder.gep(first, [away]))


@intrinsic(lambda deque: types.boolean(deque))
def has_room(code: Code, deque: Any) -> Any:
    """`has_room(deque)`: whether there is room for one more tuple."""
    free = code.builder.sub(code.word(deque, STORED.limit), code.word(deque, STORED.last))
    return code.builder.icmp_signed(">=", free, WORD(code.kinds[0].record.itemsize))


@intrinsic(lambda deque, item: types.void(deque, deque.tuple_type))
def _append(code: Code, deque: Any, item: Any) -> None:
    context, builder, kind = code.context, code.builder, code.kinds[0]
    place = code.element(deque, STORED.last, BYTES)
    at = builder.load(place)
    values = dict(zip(("ts", "input"), (0, 1), strict=True))
    values |= {name: i for i, (name, _) in enumerate(kind.order[1:], start=2)}
    for name, field in (*kind.order, ("input", types.int8)):
        value = builder.extract_value(item, values[name])
        if name == "input":
            value = builder.trunc(value, BYTE)
        data = context.data_model_manager[field].as_data(builder, value)
        builder.store(data, _field(context, builder, kind, at, name, field))
    builder.store(builder.gep(at, [WORD(kind.record.itemsize)]), place)


@intrinsic(lambda deque: types.void(deque))
def _drop_first(code: Code, deque: Any) -> None:
    place = code.element(deque, STORED.first, BYTES)
    size = WORD(code.kinds[0].record.itemsize)
    code.builder.store(code.builder.gep(code.builder.load(place), [size]), place)


@implement(len, DequeType)
def _len(deque: Any) -> Any:
    return _count(deque)


@implement(bool, DequeType)
def _bool(deque: Any) -> Any:
    return _some(deque)


@implement(python.getitem, DequeType)
def _getitem(deque: Any, index: Any) -> Any:
    at = np.int64(index)
    count = _count(deque)
    if at < 0:
        at += count
    if at < 0 or at >= count:
        raise IndexError("deque index out of range: no such tuple is stored")
    return _item(deque, at)


@implement("append", DequeType)
def _append_one(deque: Any, item: Any) -> None:
    if not has_room(deque):
        raise ValueError("update appends more than one tuple to the same deque in one call")
    _append(deque, item)


@implement("popleft", DequeType)
def _popleft(deque: Any) -> Any:
    if not _some(deque):
        raise IndexError("pop from an empty deque: no tuple is stored")
    item = _item(deque, 0)
    _drop_first(deque)
    return item


@imputils.lower_builtin("getiter", DequeType)  # type: ignore[untyped-decorator]  # Numba's gap
def _getiter(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    code = Code(context, builder, signature.args, signature.return_type)
    iterator = context.make_helper(builder, signature.return_type)
    slot = cgutils.alloca_once(builder, BYTES)
    builder.store(code.pointer(args[0], STORED.first), slot)
    iterator.at = slot
    iterator.end = code.pointer(args[0], STORED.last)
    value = iterator._getvalue()
    return imputils.impl_ret_untracked(context, builder, signature.return_type, value)


@imputils.lower_builtin("iternext", _DequeIterator)  # type: ignore[untyped-decorator]  # likewise
@imputils.iternext_impl(imputils.RefType.UNTRACKED)  # type: ignore[untyped-decorator]  # likewise
def _iternext(context: Any, builder: Any, signature: Any, args: Any, result: Any) -> None:
    (kind,) = signature.args
    walk = context.make_helper(builder, kind, value=args[0])
    at = builder.load(walk.at)
    more = builder.icmp_unsigned("!=", at, walk.end)
    result.set_valid(more)
    with builder.if_then(more):
        result.yield_(_read(context, builder, kind.deque, at))
        builder.store(builder.gep(at, [WORD(kind.deque.record.itemsize)]), walk.at)
