"""Generates the source of kernels that call a user's function for each item and emit records.

One call may emit at most `max_outputs` records; the loop makes sure of their room before the call.
Further records count as refused. A parallel array may hold the source item of each record.
Pipelines (`stages`) and dataflow graphs use these kernels: core/stages/kernel.h, core/dataflow/kernel.h.
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
        name: name of the kernel function.
        opened: lines before the loop; with `source` they must set `sources`.
        item: lines that build item `i`; they may leave the loop.
        body: lines that call the user's function; they may leave the loop.
        max_outputs: maximum number of records of one call.
        source: expression to store in `sources` as the origin of each record; empty stores nothing.
        from_begin: whether `sources` starts at the first record of this kernel call, or of the emitter.
    """
    before = after = "pass"
    base = " - base_count" if from_begin else ""
    if source and max_outputs == 1:
        # Store before the call: if the call emits nothing, the next one overwrites the value.
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
    """`call_with_key(function, table, key)`: call a C `FindState` or `MakeEntry` function."""

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
"""Numba does not type this part of its extension interface."""


@intrinsic
def count_of(typingctx: Any, out: Any) -> Any:
    """`count_of(out)`: the number of records in an open emitter."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        proxy = _struct(out)(context, builder, value=args[0])
        return builder.load(proxy.count)

    return _I(out), codegen


@intrinsic
def refuse(typingctx: Any, out: Any, records: Any) -> Any:
    """`refuse(out, records)`: add to the number of refused records of an open emitter."""

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
"""Functions that these kernels call, for the `names` of `compile_kernel`."""
