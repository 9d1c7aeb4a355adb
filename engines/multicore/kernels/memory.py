"""Provides functions of kernels over raw memory: typed loads, records in place, records on the stack.

A record on the stack is an LLVM `alloca`. Its address does not escape once the user's function is inlined, so its
fields become registers.
Kernels copy a state to the stack, update it there, and copy it back once.
So `state.sum += event.value` over a run of events compiles to a vector loop.
"""

from collections import namedtuple
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.np.numpy_support import from_dtype

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.kernels.inline_functions import part
from streamlab.engines.multicore.kernels.intrinsics import (
    BYTE,
    BYTES,
    HALF,
    WORD,
    Code,
    intrinsic,
    named_type,
)

_P, _I = types.voidptr, types.int64


def _field_offsets(struct: str) -> Any:
    """Return the offsets of fields in a struct of the core, by name, in words of 8 bytes."""
    fields: dict[str, int] = _core.STRUCTS[struct]
    return namedtuple(struct, fields)(**fields)  # The fields are known only at run time.


CALL, FLOW_CALL = _field_offsets("StageCall"), _field_offsets("FlowCall")
EMIT = _field_offsets("Emit")
INDEX, STORED = _field_offsets("WindowIndex"), _field_offsets("StoredTuples")
KEY_SET, VIEW = _field_offsets("KeySet"), _field_offsets("InstanceView")


def record_type(dtype: np.dtype[np.void]) -> types.Record:
    """Return the Numba type of a structured dtype."""
    record: types.Record = from_dtype(dtype)
    return record


@intrinsic(lambda address, index, like: named_type(like)(_P, types.intp, like))
def load(code: Code, address: Any, index: Any, like: Any) -> Any:
    """`load(address, index, dtype)`: return element `index` of the array of `dtype` at `address`."""
    pointer = code.element(address, index, code.context.get_data_type(code.result))
    model = code.context.data_model_manager[code.result]
    return model.from_data(code.builder, code.builder.load(pointer))


@intrinsic(lambda address, index: _P(_P, types.intp))
def pointer_at(code: Code, address: Any, index: Any) -> Any:
    """`pointer_at(address, index)`: return element `index` of an array of pointers."""
    return code.pointer(address, index)


@intrinsic(lambda address, nbytes: _P(_P, types.intp))
def offset(code: Code, address: Any, nbytes: Any) -> Any:
    """`offset(address, nbytes)`: return `address` plus `nbytes`."""
    return code.element(address, nbytes, BYTE)


@intrinsic(lambda address, like: named_type(like)(_P, like))
def record_at(code: Code, address: Any, like: Any) -> Any:
    """`record_at(address, dtype)`: return the record at `address`, by reference."""
    return code.builder.bitcast(address, code.context.get_value_type(code.result))


@intrinsic(lambda like: named_type(like)(like))
def stack_record(code: Code, like: Any) -> Any:
    """`stack_record(dtype)`: return a zeroed record that exists until the kernel returns."""
    size = code.result.size
    storage = cgutils.alloca_once(code.builder, ir.ArrayType(BYTE, max(1, size)))
    cgutils.memset(code.builder, storage, WORD(size), 0)
    return code.builder.bitcast(storage, code.context.get_value_type(code.result))


def _of_one_type(target: Any, source: Any) -> Any:
    if target != source or not isinstance(target, types.Record):
        raise TypingError(f"copy_record needs two records of one type, got {target} and {source}")
    return types.void(target, source)


@intrinsic(_of_one_type)
def copy_record(code: Code, target: Any, source: Any) -> None:
    """`copy_record(target, source)`: copy all fields between two records of one type."""
    cgutils.raw_memcpy(code.builder, target, source, WORD(code.kinds[0].size), 1)


@intrinsic(lambda target: types.void(target))
def zero_record(code: Code, target: Any) -> None:
    """`zero_record(target)`: set every byte of a record to 0."""
    cgutils.memset(code.builder, target, WORD(code.kinds[0].size), 0)


@intrinsic(lambda address, index, value: types.void(_P, types.intp, _I))
def store_word(code: Code, address: Any, index: Any, value: Any) -> None:
    """`store_word(address, index, value)`: set element `index` of an array of int64."""
    code.builder.store(value, code.element(address, index, WORD))


@intrinsic(lambda address, index, value: types.void(_P, types.intp, _I))
def store_int32(code: Code, address: Any, index: Any, value: Any) -> None:
    """`store_int32(address, index, value)`: set element `index` of an array of int32."""
    code.builder.store(code.builder.trunc(value, HALF), code.element(address, index, HALF))


@intrinsic(lambda address, nbytes: types.void(_P, types.intp))
def zero_bytes(code: Code, address: Any, nbytes: Any) -> None:
    """`zero_bytes(address, nbytes)`: set `nbytes` bytes to 0."""
    cgutils.memset(code.builder, address, nbytes, 0)


@intrinsic(lambda address: types.boolean(_P))
def is_null(code: Code, address: Any) -> Any:
    """`is_null(address)`: return whether `address` is the null pointer."""
    return cgutils.is_null(code.builder, address)


@intrinsic(lambda: _P())
def null(code: Code) -> Any:
    """`null()`: return the null pointer."""
    return BYTES(None)


@intrinsic(lambda address: types.void(_P))
def prefetch(code: Code, address: Any) -> None:
    """`prefetch(address)`: prefetch the cache line at `address` for writing."""
    kind = ir.FunctionType(ir.VoidType(), [BYTES, HALF, HALF, HALF])
    function = code.builder.module.declare_intrinsic("llvm.prefetch", (BYTES,), kind)
    code.builder.call(function, [address, HALF(1), HALF(3), HALF(1)])


@intrinsic(lambda function, values: _P(_P, values))
def call_pointer(code: Code, function: Any, values: Any) -> Any:
    """`call_pointer(function, values)`: call a C function with a tuple of values; return the pointer it returns."""
    arguments = cgutils.unpack_tuple(code.builder, values)
    kind = ir.FunctionType(BYTES, [value.type for value in arguments])
    return code.builder.call(code.builder.bitcast(function, kind.as_pointer()), arguments)


@part
def floor(a: Any, b: Any) -> Any:
    """Return a / b rounded down; b > 0."""
    return a // b
