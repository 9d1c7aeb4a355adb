"""Implements stored tuples in compiled code: `w[i].tuples`, the deque of a window instance.

Its C++ struct (core/oplus/stored_tuples.h) has columns for the time, for each scalar field of the operator, and for the
input. Reading returns the named tuple that kernels build from a stream's row.
The core makes room for one tuple before it calls f_U. An append to a full deque raises an exception in f_U; it never
writes out of bounds.
"""

import operator as python
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
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
    HALF,
    WORD,
    Code,
    intrinsic,
    named_type,
)
from streamlab.engines.multicore.kernels.memory import STORED
from streamlab.workloads.model import Operator
from streamlab.workloads.model.operators.program import any_matches

# Numba does not type these parts of its extension interface.
cgutils: Any = _cgutils
imputils: Any = _imputils
_kinds: Any = types
_SimpleIterator: Any = _kinds.SimpleIteratorType

TUPLES_WORDS = _core.STORED_TUPLES_BYTES // 8
_LANES = 16
"""Number of stored tuples that are compared at once: fields of 32 bits in a vector of 512 bits."""


def stored_dtype(operator: Operator) -> np.dtype[np.void]:
    """Return the dtype of a stored tuple: time, scalar fields, input.

    With room for n tuples, the column of a field begins n * o bytes into the memory, where o is the field's offset in
    this dtype. Wide fields come first, so that each column is aligned.
    """
    fields = [(name, operator.fields[name]) for name in operator.fields.names or ()]
    fields.sort(key=lambda field: -field[1].itemsize)
    return np.dtype([("ts", np.dtype(np.int64)), *fields, ("input", np.dtype(np.int8))])


def stored_fields(operator: Operator) -> list[int]:
    """Return the size in bytes of a stored tuple's fields, in the order of the columns."""
    dtype = stored_dtype(operator)
    return [dtype[name].itemsize for name in dtype.names or ()]


class DequeType(types.IterableType):
    """Numba type of the stored tuples of one window instance.

    Args:
        record: dtype of a stored tuple, see `stored_dtype`.
        named_tuple: class of the named tuple, with `ts`, `input` and the fields of the record.
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
    def key(self) -> tuple[str, types.Type]:
        """Identity of the type in Numba."""
        return str(self.record), self.tuple_type

    @property
    def iterator_type(self) -> "_DequeIterator":
        """Numba type of an iterator over the tuples."""
        return _DequeIterator(self)


class _DequeIterator(_SimpleIterator):  # type: ignore[misc]  # Numba's gap
    def __init__(self, deque: DequeType) -> None:
        self.deque = deque
        super().__init__(f"iter({deque.name})", deque.tuple_type)

    @property
    def key(self) -> DequeType:
        return self.deque


class StoringRecord(types.Record):
    """Numba type of a window instance's record with the attribute `tuples`."""

    def __init__(self, record: types.Record, deque: DequeType) -> None:
        fields: Any = [(name, field._asdict()) for name, field in record.fields.items()]
        super().__init__(fields, record.size, record.aligned)
        self.deque = deque

    @property
    def key(self) -> Any:  # Numba's base class declares a text, and accepts any value.
        """Identity of the type in Numba."""
        return super().key, self.deque


register_model(StoringRecord)(models.RecordModel)


@register_model(DequeType)
class _DequeModel(models.PrimitiveModel):
    """Represents the deque as a pointer to the C++ struct."""

    def __init__(self, dmm: Any, fe_type: DequeType) -> None:
        super().__init__(dmm, fe_type, WORD.as_pointer())  # type: ignore[no-untyped-call]  # Numba's gap


@register_model(_DequeIterator)
class _DequeIteratorModel(models.StructModel):
    def __init__(self, dmm: Any, fe_type: _DequeIterator) -> None:
        members = [
            ("memory", types.voidptr),
            ("room", types.int64),
            ("position", _kinds.CPointer(types.int64)),
            ("end", types.int64),
        ]
        super().__init__(dmm, fe_type, members)  # type: ignore[no-untyped-call]  # Numba's gap


@infer_getattr
class _TuplesOfRecord(AttributeTemplate):
    key = StoringRecord

    def resolve_tuples(self, record: StoringRecord) -> DequeType:
        return record.deque


def _deque_in(builder: ir.IRBuilder, window: ir.Value) -> ir.Value:
    """Return the address of a window instance's deque; `window` is the address of the instance."""
    deque = builder.gep(builder.bitcast(window, BYTES), [WORD(_core.STORED_TUPLES_AT)])
    return builder.bitcast(deque, WORD.as_pointer())


@imputils.lower_getattr(StoringRecord, "tuples")  # type: ignore[untyped-decorator]  # Numba's gap
def _tuples_of_record(
    context: Any, builder: ir.IRBuilder, typ: StoringRecord, value: ir.Value
) -> ir.Value:
    return _deque_in(builder, value)


@intrinsic(lambda address, like: named_type(like)(types.voidptr, like))
def deque_at(code: Code, address: ir.Value, like: ir.Value) -> ir.Value:
    """`deque_at(address, DEQUE)`: return the deque of the window instance at `address`."""
    return _deque_in(code.builder, address)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Builds code that reads and writes the columns of a deque.

    Attributes:
        context: Numba's target context.
        builder: builder of the LLVM IR.
        kind: Numba type of the deque.
        memory: address of the columns.
        room: number of items of a column.
    """

    context: Any
    builder: ir.IRBuilder
    kind: DequeType
    memory: ir.Value
    room: ir.Value

    def place(self, name: str, field: types.Type, index: ir.Value) -> ir.Value:
        """Return the address of item `index` in a field's column; `field` is the field's Numba type."""
        offset = self.kind.record.fields[name][1]  # type: ignore[index]
        column = self.builder.gep(self.memory, [self.builder.mul(self.room, WORD(offset))])
        items = self.builder.bitcast(column, self.context.get_data_type(field).as_pointer())
        return self.builder.gep(items, [index])

    def read(self, index: ir.Value) -> ir.Value:
        """Return the named tuple of the stored tuple at `index`."""
        managers = self.context.data_model_manager

        def load(name: str, field: types.Type) -> ir.Value:
            value = self.builder.load(self.place(name, field, index))
            return managers[field].from_data(self.builder, value)

        values = [load(name, field) for name, field in self.kind.order]
        origin = self.builder.sext(load("input", types.int8), WORD)
        fields = [values[0], origin, *values[1:]]
        return self.context.make_tuple(self.builder, self.kind.tuple_type, fields)


def _distance(code: Code, deque: ir.Value, last: int, first: int) -> ir.Value:
    """Return the distance in tuples between two of the deque's pointers into the column of times."""
    nbytes = code.builder.sub(code.word(deque, last), code.word(deque, first))
    return code.builder.ashr(nbytes, WORD(3), flags=["exact"])


def _columns(code: Code, kind: DequeType, deque: ir.Value) -> _Columns:
    memory = code.pointer(deque, STORED.memory)
    room = _distance(code, deque, STORED.limit, STORED.memory)
    return _Columns(code.context, code.builder, kind, memory, room)


@intrinsic(lambda deque: types.int64(deque))
def _count(code: Code, deque: ir.Value) -> ir.Value:
    return _distance(code, deque, STORED.last, STORED.first)


@intrinsic(lambda deque: types.boolean(deque))
def _is_nonempty(code: Code, deque: ir.Value) -> ir.Value:
    first, last = code.word(deque, STORED.first), code.word(deque, STORED.last)
    return code.builder.icmp_signed("!=", first, last)


@intrinsic(lambda deque, index: deque.tuple_type(deque, types.int64))
def _item(code: Code, deque: ir.Value, index: ir.Value) -> ir.Value:
    first = _distance(code, deque, STORED.first, STORED.memory)
    return _columns(code, code.kinds[0], deque).read(code.builder.add(first, index))


@intrinsic(lambda deque: types.boolean(deque))
def has_room(code: Code, deque: ir.Value) -> ir.Value:
    """`has_room(deque)`: return whether the deque has room for another tuple."""
    last, limit = code.word(deque, STORED.last), code.word(deque, STORED.limit)
    return code.builder.icmp_signed("!=", last, limit)


@intrinsic(lambda deque, item: types.void(deque, deque.tuple_type))
def _append(code: Code, deque: ir.Value, item: ir.Value) -> None:
    builder, kind = code.builder, code.kinds[0]
    columns = _columns(code, kind, deque)
    index = _distance(code, deque, STORED.last, STORED.memory)
    values = dict(zip(("ts", "input"), (0, 1), strict=True))
    values |= {name: i for i, (name, _) in enumerate(kind.order[1:], start=2)}
    for name, field in (*kind.order, ("input", types.int8)):
        value = builder.extract_value(item, values[name])
        if name == "input":
            value = builder.trunc(value, BYTE)
        data = code.context.data_model_manager[field].as_data(builder, value)
        builder.store(data, columns.place(name, field, index))
    _step(code, deque, STORED.last)


@intrinsic(lambda deque: types.void(deque))
def _drop_first(code: Code, deque: ir.Value) -> None:
    _step(code, deque, STORED.first)


def _step(code: Code, deque: ir.Value, pointer: int) -> None:
    """Move one of the deque's pointers to the next tuple."""
    code.add(code.element(deque, pointer, WORD), WORD(8))


@intrinsic(lambda deque, matches, t: types.boolean(deque, matches, t))
def _any_matches(code: Code, deque: ir.Value, matches: ir.Value, t: ir.Value) -> ir.Value:
    """Compare a tuple with each stored tuple, in a loop that LLVM turns into vectors; the last vector is masked."""
    context, builder = code.context, code.builder
    kind, function, _ = code.kinds
    pair = kind.tuple_type, kind.tuple_type
    signature = function.get_call_type(context.typing_context, pair, {})
    compare = context.get_function(function, signature)
    context.add_linking_libs(compare.libs)
    probe = context.cast(builder, t, code.kinds[2], kind.tuple_type)
    columns = _columns(code, kind, deque)
    first = _distance(code, deque, STORED.first, STORED.memory)
    count = _distance(code, deque, STORED.last, STORED.first)
    any_matched = cgutils.alloca_once_value(builder, cgutils.false_bit)
    with cgutils.for_range(builder, count) as loop:
        other = columns.read(builder.add(first, loop.index))
        matched = compare(builder, (probe, other))
        matched = context.cast(builder, matched, signature.return_type, types.boolean)
        builder.store(builder.or_(builder.load(any_matched), matched), any_matched)
    _, latch = loop.index.incomings[-1]
    latch.terminator.set_metadata("llvm.loop", _vector_hints(builder.module))
    return builder.load(any_matched)


def _vector_hints(module: ir.Module) -> ir.values.MDValue:
    """Return metadata that makes LLVM mask the last vector of a loop, because a scalar remainder would take longer.

    Processors before AVX2 get no hints: without masked loads, LLVM would test each lane of the last vector.
    """
    hints = []
    if llvmlite.binding.get_host_cpu_features().get("avx2", False):
        hints = [
            ["llvm.loop.vectorize.width", HALF(_LANES)],
            ["llvm.loop.interleave.count", HALF(1)],
            ["llvm.loop.vectorize.predicate.enable", cgutils.true_bit],
        ]
    operands = tuple(module.add_metadata(hint) for hint in hints)
    # The first operand of a loop's metadata is the metadata itself.
    node = ir.values.MDValue(module, (), name=str(len(module.metadata)))
    node.operands = (node, *operands)
    return node


@implement(any_matches, DequeType)
def _any_matches_of(tuples: Any, matches: Any, t: Any) -> Any:
    return _any_matches(tuples, matches, t)


@implement(len, DequeType)
def _len(deque: Any) -> Any:
    return _count(deque)


@implement(bool, DequeType)
def _bool(deque: Any) -> Any:
    return _is_nonempty(deque)


@implement(python.getitem, DequeType)
def _getitem(deque: Any, index: Any) -> Any:
    position = np.int64(index)
    count = _count(deque)
    if position < 0:
        position += count
    if position < 0 or position >= count:
        raise IndexError("deque index out of range: no such tuple is stored")
    return _item(deque, position)


@implement("append", DequeType)
def _append_one(deque: Any, item: Any) -> None:
    if not has_room(deque):
        raise ValueError("update appends more than one tuple to the same deque in one call")
    _append(deque, item)


@implement("popleft", DequeType)
def _popleft(deque: Any) -> Any:
    if not _is_nonempty(deque):
        raise IndexError("pop from an empty deque: no tuple is stored")
    item = _item(deque, 0)
    _drop_first(deque)
    return item


@imputils.lower_builtin("getiter", DequeType)  # type: ignore[untyped-decorator]  # Numba's gap
def _getiter(
    context: Any, builder: ir.IRBuilder, signature: Any, args: Sequence[ir.Value]
) -> ir.Value:
    code = Code(context, builder, signature.args, signature.return_type)
    iterator = context.make_helper(builder, signature.return_type)
    columns = _columns(code, signature.args[0], args[0])
    iterator.memory, iterator.room = columns.memory, columns.room
    iterator.position = code.local(_distance(code, args[0], STORED.first, STORED.memory))
    iterator.end = _distance(code, args[0], STORED.last, STORED.memory)
    value = iterator._getvalue()
    return imputils.impl_ret_untracked(context, builder, signature.return_type, value)


@imputils.lower_builtin("iternext", _DequeIterator)  # type: ignore[untyped-decorator]  # likewise
@imputils.iternext_impl(imputils.RefType.UNTRACKED)  # type: ignore[untyped-decorator]  # likewise
def _iternext(
    context: Any, builder: ir.IRBuilder, signature: Any, args: Sequence[ir.Value], result: Any
) -> None:
    (kind,) = signature.args
    iterator = context.make_helper(builder, kind, value=args[0])
    position = builder.load(iterator.position)
    is_valid = builder.icmp_unsigned("!=", position, iterator.end)
    result.set_valid(is_valid)
    with builder.if_then(is_valid):
        columns = _Columns(context, builder, kind.deque, iterator.memory, iterator.room)
        result.yield_(columns.read(position))
        builder.store(builder.add(position, WORD(1)), iterator.position)
