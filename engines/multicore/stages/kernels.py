"""Compiles the operators of an ordered pipeline to the kernels of core/stages/kernel.h.

A record is a named tuple of scalars, made anew for each row from the columns, so that it dissolves
into registers once the user's function is inlined. What `emit` appends goes to columns, and beside
each output the record that it came from.
"""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.kernels import emitter, memory
from streamlab.engines.multicore.kernels.compile import compile_kernel
from streamlab.engines.multicore.kernels.inline_functions import part
from streamlab.engines.multicore.kernels.loops import NAMES, loop
from streamlab.engines.multicore.oplus import window_tables
from streamlab.engines.multicore.oplus.keyset import mix_key
from streamlab.workloads.model.pipeline.program import STATELESS, Stage

_P, _I = types.voidptr, types.int64
_PROCESS = _I(_P, _I, _I, _P)
_PARTITION = _I(_P, _I, _I, _I, _P)

HEAD_BYTES = 16
"""Of an entry of a table of keys, before the state; `KeyStates` of core/stages/spec.h."""
AHEAD = 64
"""Records whose states are asked for before the first of them is worked on."""
CLOSE = 256 << 10
"""Bytes of tables up to which nothing is asked for: they stay in a core's second-level cache."""


class StageKernels:
    """The compiled functions of one operator. Compiles on first use; keeps the code alive.

    Args:
        stage: the operator.
        fields: structured dtype of the records that it reads, without `ts`.
        bounds: whether its functions check the indices of arrays.
    """

    def __init__(self, stage: Stage, fields: np.dtype[np.void], *, bounds: bool = False) -> None:
        self._stage = stage
        self._fields = fields
        self._bounds = bounds
        self._kept: dict[str, Any] = {}
        names = ("ts", *(fields.names or ()))
        self._tuple = namedtuple("record", names)  # type: ignore[misc]

    def process(self) -> int:
        """Return the address of the kernel that applies the operator to records.

        Raises:
            EngineError: the operator's function does not compile.
        """
        stage = self._stage
        functions: dict[str, tuple[str, Callable[..., Any]]] = {"user": ("apply", stage.apply)}
        record, opened, ahead, found, argument = "i", "", "", "", ""
        if stage.key is not None:
            functions["user_key"] = ("key", stage.key)
            record = "i if whole else int64(load(order, i, int32))"
            opened, found = _KEYED, _FIND.format(partition=self._partition_source())
            ahead = _AHEAD.format(tuple=self._tuple_source(), partition=self._partition_source())
            argument = "record_at(offset(entry, HEAD), STATE), "
        elif stage.kind != STATELESS:
            argument = "record_at(states, STATE), "
        item = _ITEM.format(ahead=ahead, record=record, tuple=self._tuple_source(), found=found)
        source = self._bounds_source() + loop(
            "process",
            opened=_OPENED.format(pointers=self._pointers(), opened=opened),
            item=item,
            body=f"        user({argument}t, out)",
            max_outputs=stage.max_outputs,
            source="k",
        )
        return self._address("process", functions, source, _PROCESS)

    def partition(self) -> int:
        """Return the address of the kernel that says which partitions records belong to.

        0 for operators that are not partitioned.

        Raises:
            EngineError: the key selector does not compile.
        """
        stage = self._stage
        if stage.key is None:
            return 0
        functions: dict[str, tuple[str, Callable[..., Any]]] = {"user": ("key", stage.key)}
        source = _PARTITION_SOURCE.format(
            bounds=self._bounds_source(),
            pointers=self._pointers(),
            tuple=self._tuple_source(),
            partition=self._partition_source(),
        )
        return self._address("partition", functions, source, _PARTITION)

    def _address(
        self,
        role: str,
        functions: dict[str, tuple[str, Callable[..., Any]]],
        source: str,
        signature: Any,
    ) -> int:
        if role not in self._kept:
            fields = self._fields
            names: dict[str, Any] = {
                **NAMES,
                "Tuple": self._tuple,
                "OUTPUT": emitter.emitter_type(self._stage.output, stamped=True),
                **{f"TYPE_{name}": fields[name].type for name in fields.names or ()},
                "array": np.array,
                "uint64": np.uint64,
                "set_stamp": emitter.set_stamp,
                "mix_key": mix_key,
                "bounds_below": bounds_below,
                "HEAD": HEAD_BYTES,
                "KEY_STATES": _core.KEY_STATES_BYTES,
                "AHEAD": AHEAD,
                "CLOSE": CLOSE,
                "find_entry": window_tables.find_entry,
                "prefetch_entry": window_tables.prefetch_entry,
                "prefetch_slot": window_tables.prefetch_slot,
                "table_bytes": window_tables.table_bytes,
            }
            if self._stage.state is not None:
                names["STATE"] = memory.record_type(self._stage.state)
                names["STRIDE"] = HEAD_BYTES + -(-max(1, self._stage.state.itemsize) // 8) * 8
            where = f"operator {self._stage.name}"
            self._kept[role] = compile_kernel(
                where, functions, source, signature, names, bounds=self._bounds
            )
        return int(self._kept[role].address)

    def _pointers(self) -> str:
        lines = ["ts_column = pointer_at(columns, 0)"]
        for position, name in enumerate(self._fields.names or (), start=1):
            lines.append(f"column_{name} = pointer_at(columns, {position})")
        return "\n".join(f"    {line}" for line in lines)

    def _bounds_source(self) -> str:
        bounds = self._stage.bounds
        return "" if bounds is None else f"BOUNDS = array({bounds}, int64)\n"

    def _partition_source(self) -> str:
        return _BY_HASH if self._stage.bounds is None else _BY_RANGE

    def _tuple_source(self) -> str:
        parts = ["load(ts_column, row, int64)"]
        parts += [f"load(column_{name}, row, TYPE_{name})" for name in self._fields.names or ()]
        return f"Tuple({', '.join(parts)})"


@part
def bounds_below(bounds: Any, key: Any) -> Any:
    """Return how many of some sorted bounds are at or below a key."""
    low, high = np.int64(0), np.int64(len(bounds))
    while low < high:
        middle = (low + high) // 2
        if bounds[middle] <= key:
            low = middle + 1
        else:
            high = middle
    return low


_OPENED = """\
    columns = pointer_at(call, 0)
    base = load(call, 1, int64)
    states = pointer_at(call, 3)
    sources = pointer_at(call, 5)
{pointers}
{opened}"""

_ITEM = """\
{ahead}
        k = int64({record})
        row = base + k
        t = {tuple}
{found}
        set_stamp(out, t.ts)"""

_KEYED = """\
    order = pointer_at(call, 2)
    find = pointer_at(call, 4)
    partitions = load(call, 6, int64)
    whole = is_null(order)
    known = begin"""

# How large tables are is judged by that of the next record: it is ours, where others may be another
# worker's, who is making it grow.
_AHEAD = """\
        if i == known:
            known = min(end, i + AHEAD)
            row = base + (i if whole else int64(load(order, i, int32)))
            t = {tuple}
            key = int64(user_key(t))
            mixed = mix_key(key)
            {partition}
            far = partitions * table_bytes(offset(states, p * KEY_STATES), STRIDE) > CLOSE
            for touched in range(2 * int64(far)):
                for j in range(i, known):
                    row = base + (j if whole else int64(load(order, j, int32)))
                    t = {tuple}
                    key = int64(user_key(t))
                    mixed = mix_key(key)
                    {partition}
                    table = offset(states, p * KEY_STATES)
                    if touched == 0:
                        prefetch_slot(table, 0, mixed)
                    else:
                        prefetch_entry(table, 0, mixed, STRIDE)"""

_FIND = """\
        key = int64(user_key(t))
        mixed = mix_key(key)
        {partition}
        table = offset(states, p * KEY_STATES)
        entry = find_entry(table, 0, key, mixed, STRIDE)
        if is_null(entry):
            entry = call_with_key(find, table, key)
            if is_null(entry):  # no memory
                break
            entry = offset(entry, -HEAD)"""

_PARTITION_SOURCE = """\
{bounds}
@kernel
def partition(columns, base, records, partitions, result):
{pointers}
    for i in range(records):
        row = base + i
        t = {tuple}
        key = int64(user(t))
        mixed = mix_key(key)
        {partition}
        store_int32(result, i, p)
    return records + 1
"""

# The low half of the hash, scaled: key tables go by the high bits (core/run/key_table.h).
_BY_HASH = "p = int64(((mixed & uint64(0xFFFFFFFF)) * uint64(partitions)) >> uint64(32))"

# How many bounds are at or below the key. Where all keys are in one table (layers) it is the first.
_BY_RANGE = "p = bounds_below(BOUNDS, key) if partitions > 1 else int64(0)"
