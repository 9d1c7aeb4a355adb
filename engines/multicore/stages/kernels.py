"""Passes pipelines and their columns to the core; compiles their operators to the kernels of core/stages/kernel.h.

A record is a named tuple of scalars that the loop builds for each row from the columns.
It becomes registers once the user's function is inlined.
`emit` appends to output columns; a parallel array has the source record of each output.
"""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.kernels import emitter, memory
from streamlab.engines.multicore.kernels.compile import Functions, KernelSet
from streamlab.engines.multicore.kernels.inline_functions import part
from streamlab.engines.multicore.kernels.intrinsics import library
from streamlab.engines.multicore.kernels.loops import column_pointers, loop
from streamlab.engines.multicore.oplus import keyset, window_tables
from streamlab.engines.multicore.run.settings import itemsizes
from streamlab.workloads.model import Input, ListColumn, Pipeline, Stream
from streamlab.workloads.model.pipeline.program import PARTITIONED, STATELESS, Stage

_P, _I = types.voidptr, types.int64
_PROCESS = _I(_P, _I, _I, _P)
_PARTITION = _I(_P, _I, _I, _I, _P)

PREFETCHED_RECORDS = 64
"""Number of records whose states the kernel prefetches together."""
CACHED_BYTES = 256 << 10
"""Size of tables up to which the kernel does not prefetch, because they fit a core's second-level cache."""


def columns_of(stream: Stream, event: np.dtype[np.void]) -> list[npt.NDArray[Any]]:
    """Return a stream's columns in the dtypes that kernels expect; missing columns are zeros."""
    zeros = np.zeros(len(stream), dtype=np.int8)
    columns = []
    for name in event.names or ():
        values = stream.payload.get(name, zeros)
        assert not isinstance(values, ListColumn), "check_fields refuses lists"
        columns.append(np.ascontiguousarray(values, dtype=event[name]))
    return columns


def partitions_of(stage: Stage, hashed: int | None = None) -> int:
    """Return the number of partitions of an operator.

    `hashed` is the number to use if keys are partitioned by hash; None for the operator's own number.
    """
    if stage.kind != PARTITIONED:
        return 1
    if stage.bounds is not None:
        return len(stage.bounds) + 1
    return stage.partitions if hashed is None else hashed


def state_bytes(stage: Stage) -> int:
    """Return the size of an operator's state; for a partitioned operator, of a key's entry in the table of states."""
    assert stage.state is not None, "a stateless operator has no state"
    if stage.kind != PARTITIONED:
        return stage.state.itemsize
    return _core.STATE_AT + -(-max(1, stage.state.itemsize) // 8) * 8


class StageKernels(KernelSet):
    """Compiles the functions of one operator. Methods raise EngineError if a function does not compile.

    `fields` is the dtype of the operator's input records, without `ts`.
    """

    def __init__(self, stage: Stage, fields: np.dtype[np.void], *, bounds: bool = False) -> None:
        super().__init__(f"operator {stage.name}", bounds=bounds)
        self._stage = stage
        self._fields = fields
        names = ("ts", *(fields.names or ()))
        self._tuple = namedtuple("record", names)  # type: ignore[misc]

    def process(self) -> int:
        """Return the address of the kernel that applies the operator to records."""
        stage = self._stage
        functions: Functions = {"user": ("apply", stage.apply)}
        record, opened, prefetching, find, argument = "i", "", "", "", ""
        if stage.key is not None:
            functions["user_key"] = ("key", stage.key)
            record = "i if whole else int64(load(order, i, int32))"
            opened, find = _KEYED, _FIND.format(partition=self._partition_source())
            prefetching = _PREFETCHING.format(
                tuple=self._tuple_source(), partition=self._partition_source()
            )
            argument = "record_at(offset(entry, HEAD), STATE), "
        elif stage.kind != STATELESS:
            argument = "record_at(states, STATE), "
        item = _ITEM.format(
            prefetching=prefetching, record=record, tuple=self._tuple_source(), find=find
        )
        source = self._bounds_source() + loop(
            "process",
            opened=_OPENED.format(pointers=self._pointers(), opened=opened),
            item=item,
            body=f"        user({argument}t, out)",
            max_outputs=stage.max_outputs,
            source="k",
        )
        return self._compile("process", functions, source, _PROCESS)

    def partition(self) -> int:
        """Return the address of the kernel that maps records to partitions; 0 without keys."""
        stage = self._stage
        if stage.key is None:
            return 0
        functions = {"user": ("key", stage.key)}
        source = _PARTITION_SOURCE.format(
            bounds=self._bounds_source(),
            pointers=self._pointers(),
            tuple=self._tuple_source(),
            partition=self._partition_source(),
        )
        return self._compile("partition", functions, source, _PARTITION)

    def _compile(self, role: str, functions: Functions, source: str, signature: Any) -> int:
        fields, state = self._fields, self._stage.state
        names: dict[str, object] = {
            **library(keyset, window_tables),
            "Tuple": self._tuple,
            "OUTPUT": emitter.EmitterType(self._stage.output, stamped=True),
            **{f"TYPE_{name}": fields[name].type for name in fields.names or ()},
            "array": np.array,
            "bounds_below": bounds_below,
            "HEAD": _core.STATE_AT,
            "KEY_STATES": _core.KEY_STATES_BYTES,
            "PREFETCHED_RECORDS": PREFETCHED_RECORDS,
            "CACHED_BYTES": CACHED_BYTES,
        }
        if state is not None:
            names["STATE"] = memory.record_type(state)
            names["STRIDE"] = state_bytes(self._stage)
        return self._address((role,), functions, source, signature, names)

    def _pointers(self) -> str:
        return column_pointers(range(1 + len(self._fields.names or ())))

    def _bounds_source(self) -> str:
        bounds = self._stage.bounds
        return "" if bounds is None else f"BOUNDS = array({bounds}, int64)\n"

    def _partition_source(self) -> str:
        return _BY_HASH if self._stage.bounds is None else _BY_RANGE

    def _tuple_source(self) -> str:
        parts = ["load(column_0, row, int64)"]
        for index, name in enumerate(self._fields.names or (), start=1):
            parts.append(f"load(column_{index}, row, TYPE_{name})")
        return f"Tuple({', '.join(parts)})"


@part
def bounds_below(bounds: Any, key: Any) -> Any:
    """Return the number of sorted bounds at or below a key."""
    low, high = np.int64(0), np.int64(len(bounds))
    while low < high:
        middle = (low + high) // 2
        if bounds[middle] <= key:
            low = middle + 1
        else:
            high = middle
    return low


def add_stages(
    core: Any, pipeline: Pipeline, partitions: Callable[[Stage], int], *, bounds: bool
) -> list[StageKernels]:
    """Add a pipeline's operators to a core; return their kernels, which must live as long as the run.

    Raises:
        ValueError: a value is out of range.
        EngineError: the operators' functions do not compile.
    """
    compiled = []
    for index, stage in enumerate(pipeline.stages):
        kernels = StageKernels(stage, pipeline.input_of(index), bounds=bounds)
        compiled.append(kernels)
        core.add_stage(
            name=stage.name,
            kind=stage.kind,
            process=kernels.process(),
            partition=kernels.partition(),
            partitions=partitions(stage),
            # 0 means no state, so a state of size 0 takes one byte.
            state_bytes=0 if stage.state is None else max(1, stage.state.itemsize),
            max_outputs=stage.max_outputs,
            itemsizes=itemsizes(stage.output),
        )
    return compiled


def check_fields(pipeline: Pipeline, data: Input) -> str | None:
    """Return why the core cannot take an input or a field of a pipeline, or None."""
    if len(data.streams) > _core.MAX_STREAMS:
        return f"a pipeline reads at most {_core.MAX_STREAMS} streams, got {len(data.streams)}; merge streams"
    for index, stage in enumerate(pipeline.stages):
        for verb, fields in (("reads", pipeline.input_of(index)), ("forwards", stage.output)):
            for name in fields.names or ():
                if fields[name].subdtype is not None or fields[name].hasobject:
                    return (
                        f"operator {stage.name} {verb} field {name} of type {fields[name]}; use a "
                        "single value"
                    )
    for stream in data.streams:
        for name in pipeline.event.names or ():
            if isinstance(stream.payload.get(name), ListColumn):
                return (
                    f"stream {stream.name}: column {name} holds lists, but the pipeline reads "
                    "single values"
                )
    return None


_OPENED = """\
    columns = pointer_at(call, CALL.columns)
    base = load(call, CALL.base, int64)
    states = pointer_at(call, CALL.state)
    sources = pointer_at(call, CALL.sources)
{pointers}
{opened}"""

_ITEM = """\
{prefetching}
        k = int64({record})
        row = base + k
        t = {tuple}
{find}
        set_stamp(out, t.ts)"""

_KEYED = """\
    order = pointer_at(call, CALL.order)
    find = pointer_at(call, CALL.find)
    partitions = load(call, CALL.partitions, int64)
    whole = is_null(order)
    ahead_end = begin"""

# The size of the next record's table stands for the size of all tables. This worker owns that table; another worker may
# be growing any other table.
_PREFETCHING = """\
        if i == ahead_end:
            ahead_end = min(end, i + PREFETCHED_RECORDS)
            row = base + (i if whole else int64(load(order, i, int32)))
            t = {tuple}
            key = int64(user_key(t))
            mixed = mix_key(key)
            {partition}
            is_large = partitions * table_bytes(offset(states, p * KEY_STATES), STRIDE) > CACHED_BYTES
            for touched in range(2 * int64(is_large)):
                for j in range(i, ahead_end):
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
            entry = call_pointer(find, (table, key))
            if is_null(entry):  # The core has no memory.
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

# Uses the low half of the hash, because key tables use the high bits (core/run/key_table.h).
_BY_HASH = "p = int64(((mixed & uint64(0xFFFFFFFF)) * uint64(partitions)) >> uint64(32))"

# In the variant `layers` all keys are in one table, so the partition is 0.
_BY_RANGE = "p = bounds_below(BOUNDS, key) if partitions > 1 else int64(0)"
