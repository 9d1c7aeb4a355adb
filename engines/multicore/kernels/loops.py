"""The loop of kernels that do something for each of some items and give records for it.

One call of a user's function gives at most `max_outputs` records, for which there must be room
before it; what it gives beyond is counted as refused. Where records come from is noted beside them.
Those of pipelines (`stages`) and of dataflow graphs are made here; core/stages/kernel.h and
core/dataflow/kernel.h say how they are called.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_P, _I = types.voidptr, types.int64

_LOOP = """\
open_out, room, close_out = open_emitter(OUTPUT)

@kernel
def {name}(call, begin, end, out_address):
{opened}
    out = open_out(out_address)
    base_count = count_of(out)
    i = begin
    while i < end and room(out) >= {max_outputs}:
{item}
        first = count_of(out)
        {before}
{body}
        {after}
        if count_of(out) - first > {max_outputs}:
            refuse(out, count_of(out) - first - {max_outputs})
        i += 1
    close_out(out, out_address)
    return i + 1
"""

_NOTE_ALL = """\
for j in range(first, count_of(out)):
            store_int32(sources, {at}, {source})"""


def loop(
    name: str,
    *,
    opened: str,
    item: str = "",
    body: str,
    max_outputs: int,
    source: str = "",
    from_begin: bool = False,
) -> str:
    """Return the source of a kernel `name(call, begin, end, out_address)`.

    Args:
        name: of the function.
        opened: lines before the loop; they set `sources` where there is a `source`.
        item: lines that make item `i`; they may leave the loop, as those of `body` may.
        body: lines that call the user's function.
        max_outputs: most records that it gives.
        source: what is noted of each record as its origin; empty: nothing.
        from_begin: whether that is beside the first record of this call of the kernel, and not
            beside the first of all.
    """
    before = after = "pass"
    base = " - base_count" if from_begin else ""
    if source and max_outputs == 1:  # before the call: what it does not give is written over
        before = f"store_int32(sources, first{base}, {source})"
    elif source:
        after = _NOTE_ALL.format(at=f"j{base}", source=source)
    return _LOOP.format(
        name=name,
        opened=opened,
        item=item,
        body=body,
        max_outputs=max_outputs,
        before=before,
        after=after,
    )


@intrinsic
def call_with_key(typingctx: Any, function: Any, table: Any, key: Any) -> Any:
    """`call_with_key(function, table, key)`: call a C `FindState` or `MakeEntry`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(byte, [byte, ir.IntType(64)])
        return builder.call(builder.bitcast(args[0], kind.as_pointer()), list(args[1:]))

    return types.voidptr(_P, _P, _I), codegen


@intrinsic
def store_int32(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
    """`store_int32(address, index, value)`: set element `index` of an array of int32."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words = builder.bitcast(args[0], ir.IntType(32).as_pointer())
        builder.store(builder.trunc(args[2], ir.IntType(32)), builder.gep(words, [args[1]]))
        return context.get_dummy_value()

    return types.void(_P, types.intp, _I), codegen


_struct: Any = cgutils.create_struct_proxy
"""Numba's extension interface is typed in part only, this not."""


@intrinsic
def count_of(typingctx: Any, out: Any) -> Any:
    """`count_of(out)`: how many records there are in an open emitter."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        proxy = _struct(out)(context, builder, value=args[0])
        return builder.load(proxy.count)

    return _I(out), codegen


@intrinsic
def refuse(typingctx: Any, out: Any, records: Any) -> Any:
    """`refuse(out, records)`: count so many records of an open emitter as too many."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        proxy = _struct(out)(context, builder, value=args[0])
        builder.store(builder.add(builder.load(proxy.refused), args[1]), proxy.refused)
        return context.get_dummy_value()

    return types.void(out, _I), codegen


NAMES: dict[str, Any] = {
    "call_with_key": call_with_key,
    "count_of": count_of,
    "refuse": refuse,
    "store_int32": store_int32,
}
"""What these kernels call, for `compile_kernel`."""
