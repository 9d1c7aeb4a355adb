"""Implements the `out` argument of users' functions in compiled code: it appends output records.

The C struct behind it is `Emit` (core/run/kernel.h): column pointers, count, capacity, and the number of records
refused for lack of room.
A kernel call loads the column pointers once, so that stores to the columns cannot force a reload.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.extending import models, register_model
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from streamlab.engines.multicore.kernels.inline_functions import overload_method_part


class EmitterType(types.Type):
    """Numba type of an emitter for records of one structured dtype.

    In a *stamped* emitter the kernel sets the first field, the timestamp; `emit` takes the other fields.
    """

    def __init__(self, fields: tuple[tuple[str, str], ...], *, stamped: bool = False) -> None:
        self.fields = fields
        self.stamped = stamped
        super().__init__(name=f"Emitter({fields}, {stamped})")

    @property
    def element_types(self) -> list[Any]:
        """Numba types of the output fields, in order."""
        return [from_dtype(np.dtype(code)) for _, code in self.fields]


def emitter_type(dtype: np.dtype[np.void], *, stamped: bool = False) -> EmitterType:
    """Return the emitter type for an output dtype."""
    assert dtype.names is not None
    fields = tuple((name, dtype[name].str) for name in dtype.names)
    return EmitterType(fields, stamped=stamped)


@register_model(EmitterType)
class _EmitterModel(models.StructModel):
    def __init__(self, dmm: Any, fe_type: EmitterType) -> None:
        members = [(f"c{i}", types.CPointer(t)) for i, t in enumerate(fe_type.element_types)]
        members += [
            ("count", types.CPointer(types.int64)),
            ("refused", types.CPointer(types.int64)),
            ("capacity", types.int64),
            ("stamp", types.CPointer(types.int64)),
        ]
        super().__init__(dmm, fe_type, members)


COLUMNS_OFFSET, COUNT_OFFSET, CAPACITY_OFFSET, REFUSED_OFFSET = 0, 8, 16, 24


def _word(builder: Any, base: Any, offset: int) -> Any:
    byte = builder.bitcast(base, ir.IntType(8).as_pointer())
    at = builder.gep(byte, [ir.Constant(ir.IntType(64), offset)])
    return builder.bitcast(at, ir.IntType(64).as_pointer())


def open_emitter(emitter: EmitterType) -> tuple[Any, Any, Any]:
    """Return intrinsics (open, room, close) that wrap a C `Emit` during one kernel call.

    `open(address)` reads the struct, `room(out)` returns how many more records fit, and
    `close(out, address)` writes the counters back. In between the counters live on the stack.
    """

    @intrinsic
    def open_(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            out = cgutils.create_struct_proxy(emitter)(context, builder)
            byte_pointer = ir.IntType(8).as_pointer()
            table_word = builder.load(_word(builder, args[0], COLUMNS_OFFSET))
            table = builder.inttoptr(table_word, byte_pointer.as_pointer())
            for i, element in enumerate(emitter.element_types):
                column = builder.load(builder.gep(table, [ir.Constant(ir.IntType(64), i)]))
                pointer_type = context.get_value_type(types.CPointer(element))
                setattr(out, f"c{i}", builder.bitcast(column, pointer_type))
            for name, offset in (("count", COUNT_OFFSET), ("refused", REFUSED_OFFSET)):
                slot = cgutils.alloca_once(builder, ir.IntType(64))
                builder.store(builder.load(_word(builder, args[0], offset)), slot)
                setattr(out, name, slot)
            out.capacity = builder.load(_word(builder, args[0], CAPACITY_OFFSET))
            out.stamp = cgutils.alloca_once(builder, ir.IntType(64))
            return out._getvalue()

        return emitter(types.voidptr), codegen

    @intrinsic
    def room(typingctx: Any, out: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            proxy = cgutils.create_struct_proxy(emitter)(context, builder, value=args[0])
            return builder.sub(proxy.capacity, builder.load(proxy.count))

        return types.int64(emitter), codegen

    @intrinsic
    def close(typingctx: Any, out: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            proxy = cgutils.create_struct_proxy(emitter)(context, builder, value=args[0])
            for name, offset in (("count", COUNT_OFFSET), ("refused", REFUSED_OFFSET)):
                value = builder.load(getattr(proxy, name))
                builder.store(value, _word(builder, args[1], offset))
            return context.get_dummy_value()

        return types.void(emitter, types.voidptr), codegen

    return open_, room, close


@intrinsic
def set_stamp(typingctx: Any, out: Any, ts: Any) -> Any:
    """`set_stamp(out, ts)`: set the timestamp of further records; stamped emitters only."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        proxy = cgutils.create_struct_proxy(out)(context, builder, value=args[0])
        builder.store(args[1], proxy.stamp)
        return context.get_dummy_value()

    return types.void(out, types.int64), codegen


@intrinsic
def _append(typingctx: Any, out: Any, values: Any) -> Any:
    elements = out.element_types
    first = int(out.stamped)
    if len(values) != len(elements) - first:
        names = ", ".join(name for name, _ in out.fields[first:])
        raise TypingError(f"emit takes {len(elements) - first} values ({names}), got {len(values)}")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        proxy = cgutils.create_struct_proxy(out)(context, builder, value=args[0])
        count = builder.load(proxy.count)
        fits = builder.icmp_signed("<", count, proxy.capacity)
        with builder.if_else(fits, likely=True) as (room, full):
            with room:
                if out.stamped:
                    builder.store(builder.load(proxy.stamp), builder.gep(proxy.c0, [count]))
                for i, element in enumerate(elements[first:], start=first):
                    value = builder.extract_value(args[1], i - first)
                    value = context.cast(builder, value, values.types[i - first], element)
                    data = context.data_model_manager[element].as_data(builder, value)
                    builder.store(data, builder.gep(getattr(proxy, f"c{i}"), [count]))
                builder.store(builder.add(count, ir.Constant(ir.IntType(64), 1)), proxy.count)
            with full:
                refused = builder.load(proxy.refused)
                one = ir.Constant(ir.IntType(64), 1)
                builder.store(builder.add(refused, one), proxy.refused)
        return context.get_dummy_value()

    return types.void(out, values), codegen


@overload_method_part(EmitterType, "emit")
def _emit(out: Any, *values: Any) -> Any:
    def emit(out: Any, *values: Any) -> None:
        _append(out, values)

    return emit
