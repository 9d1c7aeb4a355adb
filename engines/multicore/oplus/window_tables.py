"""Finds and creates window table entries in compiled code.

An entry holds the window instances of a key; core/run/key_table.h defines the C++ tables.
Compiled code creates entries only in tables with room. Otherwise, and for a table's first entry, it calls the core:
`FindWindows` of core/oplus/kernel.h.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.kernels import memory
from streamlab.engines.multicore.kernels.inline_functions import part

TABLE_BYTES = _core.WINDOW_TABLE_BYTES
"""Size of a `WindowTable`, which begins with its `WindowIndex`."""
SLOTS, ENTRIES, MASK, SHIFT, COUNT, LIMIT = 0, 1, 2, 3, 4, 5
"""Word offsets in a `WindowIndex`."""

NO_STAMP = -1
"""The stamp of no tuple: `WindowTable::kNoStamp`."""
NO_WINDOW = -(1 << 63)
"""The left boundary of no window: `WindowTable::kNoWindow`."""
MOST_LINES = 8
"""Maximum number of cache lines of an entry to prefetch; more would evict each other."""

_BYTES = ir.IntType(8).as_pointer()
_intrinsics: Any = memory  # Typed as Any: callers in compiled code omit the parameter `typingctx`.
load, offset, pointer_at = _intrinsics.load, _intrinsics.offset, _intrinsics.pointer_at
store_word, store_half = _intrinsics.store_word, _intrinsics.store_half
zero_bytes = _intrinsics.zero_bytes


@intrinsic
def _no_entry(typingctx: Any) -> Any:
    """Return the null pointer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(context.get_value_type(types.voidptr), None)

    return types.voidptr(), codegen


@intrinsic
def _prefetch_line(typingctx: Any, address: Any) -> Any:
    """Prefetch the cache line at `address` for writing."""

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
    """Return the entry of a key in a table; null if the table has none.

    Args:
        tables: address of the first table.
        number: index of the table.
        key: the key.
        mixed: hash of the key.
        stride: size of an entry in bytes.
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
def make_windows(at: Any, key: Any, left: Any, places: Any, nbytes: Any) -> None:
    """Write the heads of a new entry's windows.

    Args:
        at: address of the first window; the rest of the entry is zero.
        key: key of the entry.
        left: left boundary of the windows.
        places: number of windows, of all inputs together.
        nbytes: size of a window in bytes.
    """
    for place in range(places):
        window = offset(at, place * nbytes)
        store_word(window, 0, key)
        store_word(window, 1, left)


@part
def free_windows(at: Any, left: Any, inputs: Any, nbytes: Any) -> None:
    """Reset the windows of an expired place for a new left boundary.

    Args:
        at: address of the first input's window; those of the other inputs follow.
        left: new left boundary.
        inputs: number of inputs of the operator.
        nbytes: size of a window in bytes: key, left boundary and state.
    """
    for place in range(inputs):
        window = offset(at, place * nbytes)
        store_word(window, 1, left)
        zero_bytes(offset(window, 16), nbytes - 16)


@part
def table_bytes(table: Any, stride: Any) -> Any:
    """Return the size of a table in bytes: its slots, and the entries that it has room for."""
    slots = load(table, MASK, np.int64) + 1
    return slots * (4 + stride // 2)


@part
def prefetch_slot(tables: Any, number: Any, mixed: Any) -> None:
    """Prefetch the first slot in the search for a key."""
    table = offset(tables, number * TABLE_BYTES)
    _prefetch(offset(pointer_at(table, SLOTS), 4 * _first_slot(table, mixed)))


@part
def prefetch_entry(tables: Any, number: Any, mixed: Any, stride: Any) -> None:
    """Prefetch the first entry in the search for a key, if there is one."""
    table = offset(tables, number * TABLE_BYTES)
    slots = pointer_at(table, SLOTS)
    entry_number = np.int64(load(slots, _first_slot(table, mixed), np.uint32))
    if entry_number != 0:
        _prefetch(offset(pointer_at(table, ENTRIES), (entry_number - 1) * stride))


@part
def prefetch_windows(tables: Any, number: Any, mixed: Any, stride: Any) -> None:
    """Prefetch all lines of the first entry in the search for a key.

    For an empty slot, prefetch the next new entry.
    """
    table = offset(tables, number * TABLE_BYTES)
    slots = pointer_at(table, SLOTS)
    entry_number = np.int64(load(slots, _first_slot(table, mixed), np.uint32)) - 1
    if entry_number < 0:
        entry_number = load(table, COUNT, np.int64)
    entry = offset(pointer_at(table, ENTRIES), entry_number * stride)
    for line in range(min(MOST_LINES, (stride + 63) // 64)):
        _prefetch(offset(entry, 64 * line))


@part
def find_or_make(tables: Any, number: Any, key: Any, mixed: Any, stamp: Any, stride: Any) -> Any:
    """Return a key's entry; create it if the table is neither empty nor full.

    Otherwise return null: the core must create it.

    A new entry is zero except for its stamp and its first key.

    Args:
        tables: address of the first table.
        number: index of the table.
        key: the key.
        mixed: hash of the key.
        stamp: stamp of the tuple.
        stride: size of an entry in bytes.

    Returns:
        The entry, null if the core must create it; whether the entry is new; whether this tuple has
        not updated it yet, by its stamp.
    """
    table = offset(tables, number * TABLE_BYTES)
    slots = pointer_at(table, SLOTS)
    entries = pointer_at(table, ENTRIES)
    mask = load(table, MASK, np.int64)
    at = _first_slot(table, mixed)
    while True:
        entry_number = np.int64(load(slots, at, np.uint32))
        if entry_number == 0:
            break
        entry = offset(entries, (entry_number - 1) * stride)
        if load(entry, 1, np.int64) == key:
            fresh = load(entry, 0, np.int64) != stamp
            store_word(entry, 0, stamp)
            return entry, False, fresh
        at = (at + 1) & mask
    count = load(table, COUNT, np.int64)
    if count == 0 or count == load(table, LIMIT, np.int64):
        return no_entry(), False, False
    entry = offset(entries, count * stride)
    zero_bytes(entry, stride)
    store_word(entry, 0, stamp)
    store_word(entry, 1, key)
    store_word(table, COUNT, count + 1)
    store_half(slots, at, count + 1)
    return entry, True, True


@intrinsic
def call_find(
    typingctx: Any, function: Any, instance: Any, key: Any, bucket: Any, left: Any, stamp: Any
) -> Any:
    """`call_find(function, instance, key, bucket, left, stamp)`: call a C `FindWindows` function."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(_BYTES, [_BYTES, word, word, word, word])
        callee = builder.bitcast(args[0], kind.as_pointer())
        return builder.call(callee, list(args[1:]))

    parameters = (types.voidptr, types.voidptr, *[types.int64] * 4)
    return types.voidptr(*parameters), codegen
