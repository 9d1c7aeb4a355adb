"""Implements the `members` argument of an update across keys in compiled code."""

import operator
from typing import Any

from numba.core import types

from streamlab.engines.multicore.kernels.inline_functions import (
    overload_method_part,
    overload_part,
    part,
)
from streamlab.engines.multicore.kernels.intrinsics import (
    HALF,
    WORD,
    Code,
    StructType,
    intrinsic,
    named_type,
)


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


@overload_part(len)
def _len(members: Any) -> Any:
    if not isinstance(members, MembersType):
        return None

    def count(members: Any) -> Any:
        return _count(members)

    return count


@overload_part(operator.getitem)
def _getitem(members: Any, index: Any) -> Any:
    if not isinstance(members, MembersType):
        return None

    def getitem(members: Any, index: Any) -> Any:
        _check(members, index)
        return _state(members, index)

    return getitem


@overload_method_part(MembersType, "key")
def _key_of(members: Any, index: Any) -> Any:
    def key(members: Any, index: Any) -> Any:
        _check(members, index)
        return _key(members, index)

    return key
