"""Compiles the operators of a typed dataflow graph to the kernels of core/dataflow/kernel.h.

A value is a named tuple of scalars that the loop builds for each row from the columns.
It becomes registers once the user's function is inlined.
A key's table entry holds its state, followed by its aggregate.
"""

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.dataflow import kernel_sources as sources
from streamlab.engines.multicore.kernels import emitter, memory
from streamlab.engines.multicore.kernels.compile import KernelSet
from streamlab.engines.multicore.kernels.intrinsics import library
from streamlab.engines.multicore.kernels.loops import column_pointers, loop
from streamlab.engines.multicore.oplus import keyset, window_tables
from streamlab.workloads.model.dataflow import (
    OpKeyedOrdered,
    OpKeyedUnordered,
    OpStateless,
    TraceType,
)
from streamlab.workloads.model.dataflow.plan import Part, Unit

_P, _I = types.voidptr, types.int64
_KERNEL = _I(_P, _I, _I, _P)
_START = _I(_P, _I)

_Marker = namedtuple("_Marker", ("ts",))


class UnitKernels(KernelSet):
    """Compiles the functions of one unit of a deployment. Methods raise EngineError if a function does not compile."""

    def __init__(self, unit: Unit, *, bounds: bool = False) -> None:
        super().__init__(f"operator {unit.name}", bounds=bounds)
        self._unit = unit
        self._operator = operator = unit.vertex.operator
        self._state: np.dtype[np.void] | None = None
        self._aggregate: np.dtype[np.void] | None = None
        if isinstance(operator, OpKeyedOrdered):
            self._state = operator.state
        elif isinstance(operator, OpKeyedUnordered):
            self._aggregate = operator.aggregate
            self._state = None if unit.part is Part.PARTIAL else operator.state
        self._value = namedtuple("_value", unit.input_type.fields)  # type: ignore[misc]

    @property
    def start_bytes(self) -> int:
        """Size in bytes of a key's initial state."""
        return 0 if self._state is None else self._state.itemsize

    @property
    def entry_bytes(self) -> int:
        """Size in bytes of a key's table entry without its head."""
        return self._aggregate_at + (0 if self._aggregate is None else self._aggregate.itemsize)

    @property
    def _aggregate_at(self) -> int:
        return -(-self.start_bytes // 8) * 8

    def items(self) -> int:
        """Return the address of the kernel for items; 0 if rows pass unchanged."""
        operator = self._operator
        if operator is None:
            return 0
        if isinstance(operator, OpStateless):
            return self._compile("items", ["on_item"], self._loop(sources.STATELESS), _KERNEL)
        if isinstance(operator, OpKeyedOrdered):
            return self._compile("items", ["on_item"], self._loop(sources.ORDERED), _KERNEL)
        functions, on_item = ["combine", "identity"], ""
        if self._unit.part is Part.COMBINING:
            names = operator.aggregate.names or ()
            taken = "\n".join(f"        taken.{name} = value.sum_{name}" for name in names)
        else:
            functions += ["take", "on_item"]
            taken = "        take(taken, key, value)"
            if operator.on_item is not None:
                on_item = "        on_item(state, key, value, out)"
        body = sources.UNORDERED.format(
            state=self._state_source(), taken=taken, on_item=on_item, first=self._new_entry_source()
        )
        return self._compile("items", functions, self._loop(body), _KERNEL)

    def marks(self) -> int:
        """Return the address of the kernel for markers; 0 if markers do nothing."""
        unit, operator = self._unit, self._operator
        if operator is None:
            return 0
        functions = ["on_marker"]
        if isinstance(operator, OpStateless):
            if operator.on_marker is None or not unit.handles_markers:
                return 0
            body = "        on_marker(m, out)"
        elif isinstance(operator, OpKeyedOrdered):
            if operator.on_marker is None:
                return 0
            body = sources.ENTRY + self._state_source() + "        on_marker(state, key, m, out)"
        else:
            body = sources.ENTRY + sources.AGGREGATE
            if unit.part is Part.PARTIAL:
                functions = []
                parts = [f"aggregate.{name}" for name in operator.aggregate.names or ()]
                key = [] if unit.output_type.key is None else ["key"]
                body += f"        out.emit({', '.join((*key, 'm.ts', *parts))})"
            else:
                functions += ["update_state", "identity"]
                body += self._state_source()
                body += sources.PASS_BLOCK.format(identity=_identity(operator, "aggregate"))
                if operator.on_marker is not None:
                    body += "        on_marker(state, key, m, out)"
        source = loop(
            "marks",
            opened=sources.MARKS,
            body=body,
            max_outputs=self._max_outputs,
            source="i" if isinstance(operator, OpKeyedOrdered) else "",
            from_begin=True,
        )
        return self._compile("marks", functions, source, _KERNEL)

    def start(self) -> int:
        """Return the address of the kernel for a key's initial state; 0 if the state is all zeros."""
        operator = self._operator
        if self._state is None or isinstance(operator, OpStateless) or operator is None:
            return 0
        functions, first, passed = ["initial_state"], "pass", "pass"
        if operator.initial_state is not None:
            first = "initial_state(state)"
        if isinstance(operator, OpKeyedUnordered):
            functions += ["update_state", "identity"]
            passed = sources.EMPTY_BLOCK.format(identity=_identity(operator, "nothing"))
        if first == passed:
            return 0
        source = sources.START.format(first=first, passed=passed)
        return self._compile("start", functions, source, _START)

    @property
    def _max_outputs(self) -> int:
        operator = self._operator
        return 1 if operator is None or self._unit.part is Part.PARTIAL else operator.max_outputs

    def _state_source(self) -> str:
        return "" if self._state is None else sources.STATE

    def _new_entry_source(self) -> str:
        """Return the source that initializes the entry of a new key."""
        lines = []
        if self._state is not None:
            lines.append(
                "copy_record(record_at(offset(entry, HEAD), STATE), record_at(start, STATE))"
            )
        operator = self._operator
        if isinstance(operator, OpKeyedUnordered) and operator.identity is not None:
            lines.append("identity(record_at(offset(entry, AGGREGATE_AT), AGGREGATE))")
        return "\n".join(f"            {line}" for line in lines) or "            pass"

    def _loop(self, body: str) -> str:
        """Return the source of a kernel that runs `body` for each item."""
        fields = self._unit.input_type.fields
        keyed = self._unit.input_type.key is not None
        indices = [number + (keyed and number > 0) for number in range(len(fields))]
        values = [
            f"load(column_{index}, row, TYPE_{name})"
            for index, name in zip(indices, fields, strict=True)
        ]
        if "{first}" in body:
            body = body.format(first=self._new_entry_source(), state=self._state_source())
        return loop(
            "items",
            opened=sources.ITEMS.format(pointers=column_pointers(range(len(fields) + keyed))),
            item=sources.ITEM.format(
                key="load(column_1, row, int64)" if keyed else "int64(0)",
                value=f"Value({', '.join(values)})",
            ),
            body=body,
            max_outputs=self._max_outputs,
            source="i",
            from_begin=True,
        )

    def _compile(
        self, role: str, function_names: Sequence[str], source: str, signature: Any
    ) -> int:
        """Return the address of a kernel that calls the operator's functions `function_names`."""
        functions = {
            name: (name, function)
            for name in function_names
            if (function := getattr(self._operator, name)) is not None
        }
        reads = self._unit.input_type
        names: dict[str, object] = {
            **library(keyset, window_tables),
            "Value": self._value,
            "Marker": _Marker,
            "OUTPUT": emitter.EmitterType(_emit_dtype(self._unit.output_type)),
            **{f"TYPE_{name}": reads.value[name].type for name in reads.fields},
            "KEY": window_tables.KEY,
            "HEAD": _core.STATE_AT,
            "AGGREGATE_AT": _core.STATE_AT + self._aggregate_at,
            "STRIDE": _core.STATE_AT + -(-self.entry_bytes // 8) * 8,
        }
        if self._state is not None:
            names["STATE"] = memory.record_type(self._state)
        if self._aggregate is not None:
            names["AGGREGATE"] = memory.record_type(self._aggregate)
        return self._address((role,), functions, source, signature, names)


def _identity(operator: OpKeyedUnordered, aggregate: str) -> str:
    """Return the source that sets a zeroed aggregate to the monoid's identity."""
    return "pass" if operator.identity is None else f"identity({aggregate})"


def _emit_dtype(link: TraceType) -> np.dtype[np.void]:
    """Return the fields of a link's pairs in the order that `out.emit` takes."""
    key = [] if link.key is None else [(link.key, np.dtype(np.int64))]
    return np.dtype([*key, *((name, link.value[name]) for name in link.fields)])
