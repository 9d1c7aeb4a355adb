"""Implements the `out` argument of users' functions in compiled code: it appends output records.

The C struct behind it is `Emit` (core/run/kernel.h): column pointers, count, capacity, and the number of records
refused for lack of room.
A kernel call loads the column pointers once, so that stores to the columns cannot force a reload.
During the call the counters are on the stack.
"""

from typing import Any

import numpy as np
from numba.core import types
from numba.core.errors import TypingError
from numba.np.numpy_support import from_dtype

from streamlab.engines.multicore.kernels.inline_functions import implement
from streamlab.engines.multicore.kernels.intrinsics import (
    WORD,
    Code,
    StructType,
    counter,
    intrinsic,
    named_type,
)
from streamlab.engines.multicore.kernels.memory import EMIT

_COUNTERS = (("count", EMIT.count), ("refused", EMIT.refused))


class EmitterType(StructType):
    """Numba type of an emitter for records of one structured dtype.

    In a *stamped* emitter the kernel sets the first field, the timestamp; `emit` takes the other fields.
    """

    def __init__(self, dtype: np.dtype[np.void], *, stamped: bool = False) -> None:
        self.names = dtype.names or ()
        self.stamped = stamped
        self.element_types = [from_dtype(dtype[name]) for name in self.names]
        self.members = [(f"c{i}", types.CPointer(t)) for i, t in enumerate(self.element_types)]
        self.members += [
            (name, types.CPointer(types.int64)) for name in ("count", "refused", "stamp")
        ]
        self.members.append(("capacity", types.int64))
        fields = [(name, dtype[name].str) for name in self.names]
        super().__init__(name=f"Emitter({fields}, {stamped})")


@intrinsic(lambda address, like: named_type(like)(types.voidptr, like))
def open_emitter(code: Code, address: Any, like: Any) -> Any:
    """`open_emitter(address, OUTPUT)`: return the emitter of an `Emit` for one kernel call."""
    out = code.struct(code.result)
    columns = code.pointer(address, EMIT.columns)
    for i, element in enumerate(code.result.element_types):
        setattr(out, f"c{i}", code.pointer(columns, i, types.CPointer(element)))
    for name, place in _COUNTERS:
        setattr(out, name, code.local(code.word(address, place)))
    out.capacity = code.word(address, EMIT.capacity)
    out.stamp = code.local(WORD(0))
    return out._getvalue()


@intrinsic(lambda out, address: types.void(out, types.voidptr))
def close_emitter(code: Code, out: Any, address: Any) -> None:
    """`close_emitter(out, address)`: write the counters back to an `Emit`."""
    for name, place in _COUNTERS:
        value = code.builder.load(getattr(out, name))
        code.builder.store(value, code.element(address, place, WORD))


@intrinsic(lambda out: types.int64(out))
def room(code: Code, out: Any) -> Any:
    """`room(out)`: return how many further records fit."""
    return code.builder.sub(out.capacity, code.builder.load(out.count))


@intrinsic(lambda out, ts: types.void(out, types.int64))
def set_stamp(code: Code, out: Any, ts: Any) -> None:
    """`set_stamp(out, ts)`: set the timestamp of further records; stamped emitters only."""
    code.builder.store(ts, out.stamp)


count_of = counter("count")


@intrinsic(lambda out, records: types.void(out, types.int64))
def refuse(code: Code, out: Any, records: Any) -> None:
    """`refuse(out, records)`: add to the number of refused records."""
    code.add(out.refused, records)


def _append_signature(out: Any, values: Any) -> Any:
    names = out.names[int(out.stamped) :]
    if len(values) != len(names):
        raise TypingError(f"emit takes {len(names)} values ({', '.join(names)}), got {len(values)}")
    return types.void(out, values)


@intrinsic(_append_signature)
def _append(code: Code, out: Any, values: Any) -> None:
    """Append a record, or count it as refused if there is no room."""
    builder, (emitter, kinds) = code.builder, code.kinds
    first = int(emitter.stamped)
    count = builder.load(out.count)
    fits = builder.icmp_signed("<", count, out.capacity)
    with builder.if_else(fits, likely=True) as (free, full):
        with free:
            if emitter.stamped:
                builder.store(builder.load(out.stamp), builder.gep(out.c0, [count]))
            for i, element in enumerate(emitter.element_types[first:], start=first):
                value = builder.extract_value(values, i - first)
                value = code.context.cast(builder, value, kinds[i - first], element)
                data = code.context.data_model_manager[element].as_data(builder, value)
                builder.store(data, builder.gep(getattr(out, f"c{i}"), [count]))
            builder.store(builder.add(count, WORD(1)), out.count)
        with full:
            code.add(out.refused, WORD(1))


@implement("emit", EmitterType)
def _emit(out: Any, *values: Any) -> None:
    _append(out, values)
