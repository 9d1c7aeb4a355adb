"""Implements in compiled code `members` of an update across keys, and the model's `arrays` and `widths`."""

import operator
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload

from streamlab.engines.multicore.kernels.inline_functions import OPTIONS, implement, part
from streamlab.engines.multicore.kernels.intrinsics import (
    HALF,
    WORD,
    Code,
    StructType,
    intrinsic,
    named_type,
)
from streamlab.workloads.model import arrays, widths


@overload(arrays.copy, jit_options=OPTIONS)
def _copy(values: Any, others: Any) -> Any:
    if not all(isinstance(kind, types.Array) and kind.ndim == 1 for kind in (values, others)):
        return None

    def copy(values: Any, others: Any) -> None:
        if len(values) != len(others):
            raise ValueError("cannot copy an array into one of another length")
        for i in range(len(others)):
            others[i] = values[i]

    return copy


@overload(widths.int32, inline="always")
def _int32(value: Any) -> Any:
    def narrow(value: Any) -> Any:
        return np.int32(value)

    return narrow


@overload(widths.int64, inline="always")
def _int64(value: Any) -> Any:
    def unchecked(value: Any) -> Any:
        return value

    return unchecked


@overload(widths.divide, inline="always")
def _divide(dividend: Any, divisor: Any) -> Any:
    def quotient(dividend: Any, divisor: Any) -> Any:
        return dividend / divisor

    return quotient


class MembersType(StructType):
    """Numba type of the states of several keys, which are records of one type."""

    def __init__(self, record: types.Record) -> None:
        self.record = record
        self.members = [("states", types.voidptr), ("keys", types.voidptr), ("count", types.int64)]
        super().__init__(name=f"Members({record})")


@intrinsic(
    lambda states, keys, count, like: named_type(like)(
        types.voidptr, types.voidptr, types.int64, like
    )
)
def members_of(code: Code, states: Any, keys: Any, count: Any, like: Any) -> Any:
    """`members_of(states, keys, count, MEMBERS)`: the members in a table of state pointers."""
    members = code.struct(code.result)
    members.states, members.keys, members.count = states, keys, count
    return members._getvalue()


@intrinsic(lambda members: types.int64(members))
def _count(code: Code, members: Any) -> Any:
    return members.count


@intrinsic(lambda members, index: members.record(members, types.intp))
def _state(code: Code, members: Any, index: Any) -> Any:
    return code.pointer(members.states, index, code.result)


@intrinsic(lambda members, index: types.int64(members, types.intp))
def _key(code: Code, members: Any, index: Any) -> Any:
    return code.builder.sext(code.builder.load(code.element(members.keys, index, HALF)), WORD)


@part
def _check(members: Any, index: Any) -> None:
    if index < 0 or index >= _count(members):
        raise IndexError("members has no such index")


@implement(len, MembersType)
def _len(members: Any) -> Any:
    return _count(members)


@implement(operator.getitem, MembersType)
def _getitem(members: Any, index: Any) -> Any:
    _check(members, index)
    return _state(members, index)


@implement("key", MembersType)
def _key_of(members: Any, index: Any) -> Any:
    _check(members, index)
    return _key(members, index)
