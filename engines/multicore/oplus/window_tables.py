"""Window tables in compiled code: where the window instances of a key are.

Layout of the C++ tables: core/run/key_table.h. What a table does not hold the core makes:
`FindWindows` of core/oplus/kernel.h.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engines.multicore import _core
from engines.multicore.kernels import memory
from engines.multicore.kernels.parts import part

TABLE_BYTES = _core.WINDOW_TABLE_BYTES
"""Of a `WindowTable`, which begins with its `WindowIndex`."""
SLOTS, ENTRIES, MASK, SHIFT = 0, 1, 2, 3
"""Words of a `WindowIndex`."""

_BYTES = ir.IntType(8).as_pointer()
_intrinsics: Any = memory  # whose first parameter is the compiler's
load, offset, pointer_at = _intrinsics.load, _intrinsics.offset, _intrinsics.pointer_at


@intrinsic
def _no_entry(typingctx: Any) -> Any:
    """Return the null pointer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(context.get_value_type(types.voidptr), None)

    return types.voidptr(), codegen


@intrinsic
def _prefetch_line(typingctx: Any, address: Any) -> Any:
    """Ask for the cache line at `address`, to write to it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        half = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, half, half, half])
        function = builder.module.declare_intrinsic("llvm.prefetch", (_BYTES,), kind)
        builder.call(function, [args[0], half(1), half(3), half(1)])
        return context.get_dummy_value()

    return types.void(types.voidptr), codegen


no_entry: Any = _no_entry
_prefetch: Any = _prefetch_line


@part
def _first_slot(table: Any, mixed: Any) -> Any:
    return np.int64(mixed >> load(table, SHIFT, np.uint64))


@part
def find_entry(tables: Any, number: Any, key: Any, mixed: Any, stride: Any) -> Any:
    """Return the entry of a key in table `number`, null when there is none.

    Args:
        tables: the first one.
        number: which.
        key: what to look for.
        mixed: its hash.
        stride: bytes of an entry.
    """
    table = offset(tables, number * TABLE_BYTES)
    slots = pointer_at(table, SLOTS)
    entries = pointer_at(table, ENTRIES)
    mask = load(table, MASK, np.int64)
    at = _first_slot(table, mixed)
    while True:
        entry_number = np.int64(load(slots, at, np.uint32))
        if entry_number == 0:
            return no_entry()
        entry = offset(entries, (entry_number - 1) * stride)
        if load(entry, 1, np.int64) == key:
            return entry
        at = (at + 1) & mask


@part
def table_bytes(table: Any, stride: Any) -> Any:
    """Return how many bytes a table takes, its slots and the entries that it has room for."""
    slots = load(table, MASK, np.int64) + 1
    return slots * (4 + stride // 2)


@part
def prefetch_slot(tables: Any, number: Any, mixed: Any) -> None:
    """Ask for the slot where the search of a key begins."""
    table = offset(tables, number * TABLE_BYTES)
    _prefetch(offset(pointer_at(table, SLOTS), 4 * _first_slot(table, mixed)))


@part
def prefetch_entry(tables: Any, number: Any, mixed: Any, stride: Any) -> None:
    """Ask for the entry that the search of a key meets first, or for where the next one is made."""
    table = offset(tables, number * TABLE_BYTES)
    slots = pointer_at(table, SLOTS)
    entry_number = np.int64(load(slots, _first_slot(table, mixed), np.uint32))
    if entry_number != 0:
        _prefetch(offset(pointer_at(table, ENTRIES), (entry_number - 1) * stride))
