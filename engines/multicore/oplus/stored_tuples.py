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
from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.core import imputils as _imputils
from numba.core.extending import models, register_model
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from streamlab.engines.multicore.kernels.inline_functions import overload_method_part, overload_part
from streamlab.workloads.model import Operator

# Numba does not type these parts of its extension interface.
cgutils: Any = _cgutils
imputils: Any = _imputils
_kinds: Any = types
_SimpleIterator: Any = _kinds.SimpleIteratorType

TUPLES_OFFSET = 16
"""Offset of the deque in a window instance, after key and left boundary."""
TUPLES_WORDS = 4
_FIRST, _LAST, _LIMIT = range(3)
_BYTES = ir.IntType(8).as_pointer()
_WORD = ir.IntType(64)


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
        super().__init__(dmm, fe_type, _WORD.as_pointer())  # type: ignore[no-untyped-call]  # Numba's gap


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


@imputils.lower_getattr(StoringRecord, "tuples")  # type: ignore[untyped-decorator]  # Numba's gap
def _tuples_of_record(context: Any, builder: Any, typ: Any, value: Any) -> Any:
    at = builder.gep(builder.bitcast(value, _BYTES), [_WORD(TUPLES_OFFSET)])
    return builder.bitcast(at, _WORD.as_pointer())


def _pointer(builder: Any, deque: Any, which: int) -> Any:
    """Return the address of one of the struct's pointers."""
    return builder.bitcast(builder.gep(deque, [_WORD(which)]), _BYTES.as_pointer())


def _size(builder: Any, deque: Any) -> Any:
    """Return the size of the stored tuples in bytes."""
    first = builder.load(builder.gep(deque, [_WORD(_FIRST)]))
    return builder.sub(builder.load(builder.gep(deque, [_WORD(_LAST)])), first)


def _field(context: Any, builder: Any, kind: DequeType, at: Any, name: str, field: Any) -> Any:
    """Return the address of a field of Numba type `field` in the record at `at`."""
    place = builder.gep(at, [_WORD(kind.record.fields[name][1])])  # type: ignore[index]
    return builder.bitcast(place, context.get_data_type(field).as_pointer())


def _read(context: Any, builder: Any, kind: DequeType, at: Any) -> Any:
    """Return the named tuple of a stored record."""
    managers = context.data_model_manager

    def load(name: str, field: Any) -> Any:
        return managers[field].from_data(
            builder, builder.load(_field(context, builder, kind, at, name, field))
        )

    values = [load(name, field) for name, field in kind.order]
    origin = builder.sext(load("input", types.int8), _WORD)
    return context.make_tuple(builder, kind.tuple_type, [values[0], origin, *values[1:]])


@intrinsic
def _count_of(typingctx: Any, deque: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size = _WORD(deque.record.itemsize)
        return builder.sdiv(_size(builder, args[0]), size, flags=["exact"])

    return types.int64(deque), codegen


@intrinsic
def _some_of(typingctx: Any, deque: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.icmp_signed("!=", _size(builder, args[0]), _WORD(0))

    return types.boolean(deque), codegen


@intrinsic
def _item_of(typingctx: Any, deque: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        first = builder.load(_pointer(builder, args[0], _FIRST))
        away = builder.mul(args[1], _WORD(deque.record.itemsize))
        return _read(context, builder, deque, builder.gep(first, [away]))

    return deque.tuple_type(deque, types.int64), codegen


@intrinsic
def _has_room_of(typingctx: Any, deque: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        last = builder.load(builder.gep(args[0], [_WORD(_LAST)]))
        limit = builder.load(builder.gep(args[0], [_WORD(_LIMIT)]))
        size = _WORD(deque.record.itemsize)
        return builder.icmp_signed(">=", builder.sub(limit, last), size)

    return types.boolean(deque), codegen


@intrinsic
def _append_of(typingctx: Any, deque: Any, item: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _pointer(builder, args[0], _LAST)
        at = builder.load(place)
        values = dict(zip(("ts", "input"), (0, 1), strict=True))
        values |= {name: i for i, (name, _) in enumerate(deque.order[1:], start=2)}
        for name, field in (*deque.order, ("input", types.int8)):
            value = builder.extract_value(args[1], values[name])
            if name == "input":
                value = builder.trunc(value, ir.IntType(8))
            data = context.data_model_manager[field].as_data(builder, value)
            builder.store(data, _field(context, builder, deque, at, name, field))
        builder.store(builder.gep(at, [_WORD(deque.record.itemsize)]), place)
        return context.get_dummy_value()

    return types.void(deque, deque.tuple_type), codegen


@intrinsic
def _drop_first_of(typingctx: Any, deque: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _pointer(builder, args[0], _FIRST)
        size = _WORD(deque.record.itemsize)
        builder.store(builder.gep(builder.load(place), [size]), place)
        return context.get_dummy_value()

    return types.void(deque), codegen


# Typed as Any: callers in compiled code omit the first parameter, `typingctx`.
_count: Any = _count_of
_some: Any = _some_of
_item: Any = _item_of
_has_room: Any = _has_room_of
_append: Any = _append_of
_drop_first: Any = _drop_first_of


@overload_part(len)
def _len(deque: Any) -> Any:
    if not isinstance(deque, DequeType):
        return None

    def count(deque: Any) -> Any:
        return _count(deque)

    return count


@overload_part(bool)
def _bool(deque: Any) -> Any:
    if not isinstance(deque, DequeType):
        return None

    def some(deque: Any) -> Any:
        return _some(deque)

    return some


@overload_part(python.getitem)
def _getitem(deque: Any, index: Any) -> Any:
    if not isinstance(deque, DequeType):
        return None

    def getitem(deque: Any, index: Any) -> Any:
        at = np.int64(index)
        count = _count(deque)
        if at < 0:
            at += count
        if at < 0 or at >= count:
            raise IndexError("deque index out of range: no such tuple is stored")
        return _item(deque, at)

    return getitem


@overload_method_part(DequeType, "append")
def _append_one(deque: Any, item: Any) -> Any:
    def append(deque: Any, item: Any) -> None:
        if not _has_room(deque):
            raise ValueError("update appends more than one tuple to the same deque in one call")
        _append(deque, item)

    return append


@overload_method_part(DequeType, "popleft")
def _popleft(deque: Any) -> Any:
    def popleft(deque: Any) -> Any:
        if not _some(deque):
            raise IndexError("pop from an empty deque: no tuple is stored")
        item = _item(deque, 0)
        _drop_first(deque)
        return item

    return popleft


@imputils.lower_builtin("getiter", DequeType)  # type: ignore[untyped-decorator]  # Numba's gap
def _getiter(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    iterator = context.make_helper(builder, signature.return_type)
    slot = cgutils.alloca_once(builder, _BYTES)
    builder.store(builder.load(_pointer(builder, args[0], _FIRST)), slot)
    iterator.at = slot
    iterator.end = builder.load(_pointer(builder, args[0], _LAST))
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
        builder.store(builder.gep(at, [_WORD(kind.deque.record.itemsize)]), walk.at)


@intrinsic
def deque_at(typingctx: Any, address: Any, like: Any) -> Any:
    """`deque_at(address, type)`: the deque of the window instance at `address`."""
    kind = like.instance_type

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(builder.bitcast(args[0], _BYTES), [_WORD(TUPLES_OFFSET)])
        return builder.bitcast(at, _WORD.as_pointer())

    return kind(types.voidptr, like), codegen


has_room = _has_room_of


@intrinsic
def call_reserve(typingctx: Any, function: Any, instance: Any, windows: Any) -> Any:
    """`call_reserve(function, instance, windows)`: call a C `ReserveStored` function."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_BYTES, [_BYTES, _BYTES])
        return builder.call(builder.bitcast(args[0], kind.as_pointer()), list(args[1:]))

    return types.voidptr(types.voidptr, types.voidptr, types.voidptr), codegen
