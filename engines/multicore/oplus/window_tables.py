"""Finds and creates window table entries in compiled code.

An entry holds the window instances of a key; core/run/key_table.h defines the C++ tables.
Compiled code creates entries only in tables with room. Otherwise, and for a table's first entry, it calls
`FindWindows` of the core (core/oplus/kernel.h).
"""

from typing import Any

import numpy as np

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.kernels.inline_functions import part
from streamlab.engines.multicore.kernels.memory import (
    INDEX,
    is_null,
    load,
    null,
    offset,
    pointer_at,
    prefetch,
    store_int32,
    store_word,
    zero_bytes,
)

TABLE_BYTES = _core.WINDOW_TABLE_BYTES
"""Size of a `WindowTable`, which begins with its `WindowIndex`."""
NO_STAMP, NO_WINDOW = _core.NO_STAMP, _core.NO_WINDOW
"""A stamp that no tuple has, and a left boundary that no window has."""
HEAD_BYTES = _core.WINDOWS_AT
"""Size of an entry's head, the stamp. The windows follow."""
STAMP, KEY = 0, HEAD_BYTES // 8
"""Words of an entry: its stamp, and its key, which is the first word of its first window."""
LEFT = 1
"""The word of a window with its left boundary; the key is word 0."""
MAX_LINES = 8
"""Maximum number of cache lines of an entry to prefetch; more would evict each other."""


@part
def _first_slot(table: Any, mixed: Any) -> Any:
    return np.int64(mixed >> load(table, INDEX.shift, np.uint64))


@part
def _search(table: Any, key: Any, mixed: Any, stride: Any) -> Any:
    """Return the entry of a key (null if the table has none), and the slot where the search ended."""
    slots = pointer_at(table, INDEX.slots)
    entries = pointer_at(table, INDEX.entries)
    mask = load(table, INDEX.mask, np.int64)
    slot = _first_slot(table, mixed)
    while True:
        entry_number = np.int64(load(slots, slot, np.uint32))
        if entry_number == 0:
            return null(), slot
        entry = offset(entries, (entry_number - 1) * stride)
        if load(entry, KEY, np.int64) == key:
            return entry, slot
        slot = (slot + 1) & mask


@part
def find_entry(tables: Any, number: Any, key: Any, mixed: Any, stride: Any) -> Any:
    """Return the entry of a key in table `number`; null if the table has none.

    `mixed` is the key's hash, and `stride` the size of an entry in bytes.
    """
    return _search(offset(tables, number * TABLE_BYTES), key, mixed, stride)[0]


@part
def make_windows(address: Any, key: Any, left: Any, count: Any, nbytes: Any) -> None:
    """Write the heads of all windows of a new entry: `count` windows of `nbytes` bytes each, from `address` on."""
    for index in range(count):
        window = offset(address, index * nbytes)
        store_word(window, 0, key)
        store_word(window, LEFT, left)


@part
def free_windows(address: Any, left: Any, inputs: Any, nbytes: Any) -> None:
    """Reset the expired windows of all inputs, from `address` on, and set their left boundary."""
    for index in range(inputs):
        window = offset(address, index * nbytes)
        store_word(window, LEFT, left)
        zero_bytes(offset(window, 16), nbytes - 16)


@part
def table_bytes(table: Any, stride: Any) -> Any:
    """Return the size of a table in bytes: its slots, and room for half as many entries."""
    slots = load(table, INDEX.mask, np.int64) + 1
    return slots * (4 + stride // 2)


@part
def prefetch_slot(tables: Any, number: Any, mixed: Any) -> None:
    """Prefetch the first slot in the search for a key."""
    table = offset(tables, number * TABLE_BYTES)
    prefetch(offset(pointer_at(table, INDEX.slots), 4 * _first_slot(table, mixed)))


@part
def prefetch_entry(tables: Any, number: Any, mixed: Any, stride: Any) -> None:
    """Prefetch the entry of the first slot in the search for a key, unless the slot is empty."""
    table = offset(tables, number * TABLE_BYTES)
    slots = pointer_at(table, INDEX.slots)
    entry_number = np.int64(load(slots, _first_slot(table, mixed), np.uint32))
    if entry_number != 0:
        prefetch(offset(pointer_at(table, INDEX.entries), (entry_number - 1) * stride))


@part
def prefetch_windows(tables: Any, number: Any, mixed: Any, stride: Any) -> None:
    """Prefetch all lines of the first entry in the search for a key, or of the next new entry if the slot is empty."""
    table = offset(tables, number * TABLE_BYTES)
    slots = pointer_at(table, INDEX.slots)
    entry_number = np.int64(load(slots, _first_slot(table, mixed), np.uint32)) - 1
    if entry_number < 0:
        entry_number = load(table, INDEX.count, np.int64)
    entry = offset(pointer_at(table, INDEX.entries), entry_number * stride)
    for line in range(min(MAX_LINES, (stride + 63) // 64)):
        prefetch(offset(entry, 64 * line))


@part
def find_or_make(
    tables: Any, number: Any, key: Any, mixed: Any, stamp: Any, single_key: Any, stride: Any
) -> Any:
    """Return a key's entry; create it if the table is neither empty nor full.

    A new entry is zero except for the tuple's stamp and the first key.
    A tuple with a `single_key` key needs no stamp, because it updates the entry once.

    Returns:
        The entry, null if the core must create it; whether the entry is new; whether, by the stamp, this tuple has yet
        to update the entry.
    """
    table = offset(tables, number * TABLE_BYTES)
    entry, slot = _search(table, key, mixed, stride)
    if not is_null(entry):
        fresh = True
        if not single_key:
            fresh = load(entry, STAMP, np.int64) != stamp
            store_word(entry, STAMP, stamp)
        return entry, False, fresh
    count = load(table, INDEX.count, np.int64)
    if count == 0 or count == load(table, INDEX.limit, np.int64):
        return entry, False, False
    entry = offset(pointer_at(table, INDEX.entries), count * stride)
    zero_bytes(entry, stride)
    store_word(entry, STAMP, stamp)
    store_word(entry, KEY, key)
    store_word(table, INDEX.count, count + 1)
    store_int32(pointer_at(table, INDEX.slots), slot, count + 1)
    return entry, True, True
