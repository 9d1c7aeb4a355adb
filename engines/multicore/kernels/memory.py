"""Provides Numba intrinsics over raw memory: typed loads, records in place, records on the stack.

A record on the stack is an LLVM `alloca`. Its address does not escape once the user's function is inlined, so its
fields become registers.
Kernels copy a state to the stack, update it there, and copy it back once.
So `state.sum += event.value` over a run of events compiles to a vector loop.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from streamlab.engines.multicore.kernels.inline_functions import part

__all__ = [
    "copy_record",
    "floor",
    "is_null",
    "load",
    "offset",
    "pointer_at",
    "record_at",
    "record_type",
    "stack_record",
    "store_half",
    "store_word",
    "zero_bytes",
    "zero_record",
]


def record_type(dtype: np.dtype[np.void]) -> types.Record:
    """Return the Numba type of a structured dtype."""
    record: types.Record = from_dtype(dtype)
    return record


def _named_type(like: Any) -> Any:
    """Return the Numba type for a compile-time argument: a record type or a NumPy scalar type."""
    if isinstance(like, (types.TypeRef, types.NumberClass)):
        return like.instance_type
    raise TypingError(f"expected a type known at compile time, got {like}")


@intrinsic
def load(typingctx: Any, address: Any, index: Any, like: Any) -> Any:
    """`load(address, index, dtype)`: element `index` of the array of `dtype` at `address`."""
    element = _named_type(like)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.bitcast(args[0], context.get_data_type(element).as_pointer())
        loaded = builder.load(builder.gep(pointer, [args[1]]))
        return context.data_model_manager[element].from_data(builder, loaded)

    return element(types.voidptr, types.intp, like), codegen


@intrinsic
def pointer_at(typingctx: Any, address: Any, index: Any) -> Any:
    """`pointer_at(address, index)`: element `index` of an array of pointers."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte_pointer = context.get_value_type(types.voidptr)
        table = builder.bitcast(args[0], byte_pointer.as_pointer())
        return builder.load(builder.gep(table, [args[1]]))

    return types.voidptr(types.voidptr, types.intp), codegen


@intrinsic
def offset(typingctx: Any, address: Any, nbytes: Any) -> Any:
    """`offset(address, nbytes)`: `address` plus `nbytes`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = builder.bitcast(args[0], ir.IntType(8).as_pointer())
        return builder.bitcast(builder.gep(byte, [args[1]]), context.get_value_type(types.voidptr))

    return types.voidptr(types.voidptr, types.intp), codegen


@intrinsic
def record_at(typingctx: Any, address: Any, like: Any) -> Any:
    """`record_at(address, dtype)`: the record at `address`, by reference."""
    record = _named_type(like)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(record))

    return record(types.voidptr, like), codegen


@intrinsic
def stack_record(typingctx: Any, like: Any) -> Any:
    """`stack_record(dtype)`: a zeroed record that lives until the kernel returns."""
    record = _named_type(like)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        storage = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(8), max(1, record.size)))
        cgutils.memset(builder, storage, ir.Constant(ir.IntType(64), record.size), 0)
        return builder.bitcast(storage, context.get_value_type(record))

    return record(like), codegen


@intrinsic
def copy_record(typingctx: Any, target: Any, source: Any) -> Any:
    """`copy_record(target, source)`: copy all fields between two records of one type."""
    if target != source or not isinstance(target, types.Record):
        raise TypingError(f"copy_record needs two records of one type, got {target} and {source}")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size = ir.Constant(ir.IntType(64), target.size)
        cgutils.raw_memcpy(builder, args[0], args[1], size, 1)
        return context.get_dummy_value()

    return types.void(target, source), codegen


@intrinsic
def zero_record(typingctx: Any, target: Any) -> Any:
    """`zero_record(target)`: set every byte of a record to 0."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cgutils.memset(builder, args[0], ir.Constant(ir.IntType(64), target.size), 0)
        return context.get_dummy_value()

    return types.void(target), codegen


@intrinsic
def store_word(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
    """`store_word(address, index, value)`: set element `index` of an array of int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words = builder.bitcast(args[0], ir.IntType(64).as_pointer())
        builder.store(args[2], builder.gep(words, [args[1]]))
        return context.get_dummy_value()

    return types.void(types.voidptr, types.intp, types.int64), codegen


@intrinsic
def store_half(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
    """`store_half(address, index, value)`: set element `index` of an array of int32."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        halves = builder.bitcast(args[0], ir.IntType(32).as_pointer())
        narrow = builder.trunc(args[2], ir.IntType(32))
        builder.store(narrow, builder.gep(halves, [args[1]]))
        return context.get_dummy_value()

    return types.void(types.voidptr, types.intp, types.int64), codegen


@intrinsic
def zero_bytes(typingctx: Any, address: Any, nbytes: Any) -> Any:
    """`zero_bytes(address, nbytes)`: set `nbytes` bytes to 0."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cgutils.memset(builder, args[0], args[1], 0)
        return context.get_dummy_value()

    return types.void(types.voidptr, types.intp), codegen


@intrinsic
def is_null(typingctx: Any, address: Any) -> Any:
    """`is_null(address)`: whether `address` is the null pointer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return cgutils.is_null(builder, args[0])

    return types.boolean(types.voidptr), codegen


@part
def floor(a: Any, b: Any) -> Any:
    """Return a / b rounded down; b > 0."""
    return a // b
