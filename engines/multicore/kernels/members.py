"""Implements the `members` argument of an update across keys in compiled code."""

import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import models, register_model
from numba.extending import intrinsic

from streamlab.engines.multicore.kernels.inline_functions import overload_method_part, overload_part


class MembersType(types.Type):
    """Numba type of the states of several keys, which are records of one type."""

    def __init__(self, record: types.Record) -> None:
        self.record = record
        super().__init__(name=f"Members({record})")


@register_model(MembersType)
class _MembersModel(models.StructModel):
    def __init__(self, dmm: Any, fe_type: MembersType) -> None:
        members = [
            ("states", types.voidptr),
            ("keys", types.CPointer(types.int32)),
            ("count", types.int64),
        ]
        super().__init__(dmm, fe_type, members)


def open_members(members: MembersType) -> Any:
    """Return an intrinsic `(states, keys, count)` that creates members from a table of state pointers."""

    @intrinsic
    def open_(typingctx: Any, states: Any, keys: Any, count: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            proxy = cgutils.create_struct_proxy(members)(context, builder)
            proxy.states = args[0]
            proxy.keys = builder.bitcast(args[1], ir.IntType(32).as_pointer())
            proxy.count = args[2]
            return proxy._getvalue()

        return members(types.voidptr, types.voidptr, types.int64), codegen

    return open_


@intrinsic
def _count(typingctx: Any, members: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return cgutils.create_struct_proxy(members)(context, builder, value=args[0]).count

    return types.int64(members), codegen


@intrinsic
def _state(typingctx: Any, members: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        proxy = cgutils.create_struct_proxy(members)(context, builder, value=args[0])
        byte_pointer = context.get_value_type(types.voidptr)
        table = builder.bitcast(proxy.states, byte_pointer.as_pointer())
        pointer = builder.load(builder.gep(table, [args[1]]))
        return builder.bitcast(pointer, context.get_value_type(members.record))

    return members.record(members, types.intp), codegen


@intrinsic
def _key(typingctx: Any, members: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        proxy = cgutils.create_struct_proxy(members)(context, builder, value=args[0])
        return builder.sext(builder.load(builder.gep(proxy.keys, [args[1]])), ir.IntType(64))

    return types.int64(members, types.intp), codegen


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
        if index < 0 or index >= _count(members):
            raise IndexError("members has no such index")
        return _state(members, index)

    return getitem


@overload_method_part(MembersType, "key")
def _key_of(members: Any, index: Any) -> Any:
    def key(members: Any, index: Any) -> Any:
        if index < 0 or index >= _count(members):
            raise IndexError("members has no such index")
        return _key(members, index)

    return key
