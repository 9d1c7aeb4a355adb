"""Compiles the functions of an operator O+ to the kernels of core/oplus/kernel.h.

A tuple is a named tuple of scalars (and array views for lists) that the loop builds for each row from the columns.
It becomes registers once the user's function is inlined.
"""

import textwrap
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.kernels import emitter, memory
from streamlab.engines.multicore.kernels.compile import Functions, KernelSet, compile_inlined
from streamlab.engines.multicore.kernels.intrinsics import library
from streamlab.engines.multicore.kernels.loops import column_pointers
from streamlab.engines.multicore.kernels.sealed_cache import vector_bits
from streamlab.engines.multicore.oplus import kernel_sources as operator_sources
from streamlab.engines.multicore.oplus import keyset, stored_tuples, window_tables
from streamlab.engines.multicore.oplus.refusal import max_open_windows
from streamlab.workloads.model import ListColumn, Operator, Stream
from streamlab.workloads.model.code.fingerprint import UnstableError, fingerprint
from streamlab.workloads.model.operators.instance import store
from streamlab.workloads.model.operators.program import SINGLE, keep
from streamlab.workloads.model.operators.windows import purge

_P, _I = types.voidptr, types.int64
_PROCESS = _I(_P, _I, _I, _P)
_ROUTE = _I(_P, _I, _P, _I, _I, _P)
_MAP = _I(_P, _P, _P, _I, _P)
_EXPIRE = _I(_P, _I, _I, _I, _P)
_MATCH = _I(_P, _I, _I, _P, _I, _I, _P, _I)
_PAIRS = _I(_P, _P, _P, _P, _I, _I, _P)

_DEQUE_FIELD = "stored tuples"
"""Contains a space, so that no user's function can access the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleLayout:
    """The layout of a stream's tuples.

    Attributes:
        input: index of the operator's input.
        fields: scalar fields that the stream carries.
        lists: list fields that the stream carries.
    """

    input: int
    fields: tuple[str, ...]
    lists: tuple[str, ...]


def layout_of(operator: Operator, stream: Stream) -> TupleLayout:
    """Return the layout of a stream's tuples."""
    return TupleLayout(
        input=stream.kinds[0],
        fields=tuple(name for name in operator.fields.names or () if name in stream.payload),
        lists=tuple(name for name in operator.lists if name in stream.payload),
    )


def columns_of(operator: Operator, stream: Stream) -> list[np.ndarray[Any, Any] | None]:
    """Return a stream's columns after `ts` in the order that kernels expect; None for missing columns.

    The scalar fields come first, then begins, ends and elements of each list.
    """
    columns: list[np.ndarray[Any, Any] | None] = []
    for name in operator.fields.names or ():
        column = stream.payload.get(name)
        assert not isinstance(column, ListColumn)
        columns.append(column)
    for name in operator.lists:
        lists = stream.payload.get(name)
        if isinstance(lists, ListColumn):
            columns += [lists.offsets[:-1], lists.offsets[1:], lists.values]
        else:
            columns += [None, None, None]
    return columns


def shapes_of(operator: Operator) -> list[tuple[int, bool]]:
    """Return (bytes of an element, whether it is a list) of each payload column, scalars first."""
    scalars = [(operator.fields[name].itemsize, False) for name in operator.fields.names or ()]
    return scalars + [(dtype.itemsize, True) for dtype in operator.lists.values()]


def window_dtype(operator: Operator) -> np.dtype[np.void]:
    """Return the dtype of one window instance, whose size is a multiple of 8 bytes.

    The fields are key, left boundary, the deque of stored tuples if the operator has one, and the state.
    """
    fields: list[tuple[str, Any]] = [("key", np.int64), ("left", np.int64)]
    if operator.stores:
        fields.append((_DEQUE_FIELD, np.dtype((np.int64, stored_tuples.TUPLES_WORDS))))
    fields += [(name, operator.state[name]) for name in operator.state.names or ()]
    return np.dtype(fields, align=True)


def entry_bytes(operator: Operator) -> int:
    """Return the size in bytes of a window table's entry, which has all windows of a key."""
    return window_tables.HEAD_BYTES + _windows_per_entry(operator) * window_dtype(operator).itemsize


def _windows_per_entry(operator: Operator) -> int:
    """Return the number of windows in an entry, of all inputs together."""
    return max_open_windows(operator) * len(operator.inputs)


def _name_of(bucket: Callable[[int], int] | None) -> str:
    """Return a unique name for a bucket function, because Numba identifies types by name."""
    if bucket is None:
        return "hash"
    try:
        return fingerprint(bucket)
    except UnstableError:
        return str(id(bucket))


class OperatorKernels(KernelSet):
    """Compiles the functions of one operator. Methods raise EngineError if a function does not compile."""

    def __init__(self, operator: Operator, *, bounds: bool = False) -> None:
        super().__init__(f"operator {operator.name}", bounds=bounds)
        self._operator = operator
        names = ("ts", "input", *(operator.fields.names or ()), *operator.lists)
        self._tuple = namedtuple("tuple_", names)  # type: ignore[misc]
        bucket = (
            None if operator.bucket is None else compile_inlined(operator.bucket, bounds=bounds)
        )
        name = f"{operator.buckets} {_name_of(operator.bucket)} {'checked' if bounds else ''}"
        to_bucket = keyset.bucket_function(operator.buckets, bucket)
        self._keys = keyset.KeySetType(name, to_bucket)
        self._single_key = keyset.SingleKeyType(name, to_bucket)
        self._owners = keyset.OwnersType(name, to_bucket)
        # The core does not store tuples with lists; a join over columns may read them.
        self._deque = None
        if operator.stores and not operator.lists:
            self._deque = stored_tuples.DequeType(stored_tuples.stored_dtype(operator), self._tuple)

    def process(self, layout: TupleLayout) -> int:
        """Return the address of the kernel that updates window instances with tuples."""
        operator = self._operator
        pointers = self._pointers("columns", "", layout)
        source = operator_sources.PROCESS.format(
            open_stored=operator_sources.OPEN_STORED if operator.stores else "",
            close_stored=operator_sources.CLOSE_STORED if operator.stores else "",
            stream_pointers=textwrap.indent(pointers, " " * 12),
            scan_pointers=textwrap.indent(pointers, " " * 8),
            pointers=textwrap.indent(pointers, " " * 4),
            tuple=self._tuple_source("row", "", layout),
            in_windows=self._in_windows(layout),
        )
        functions: Functions = {
            "user_keys": ("keys", operator.keys),
            "user": ("update", operator.update or store),
        }
        return self._address_of(("process", layout), functions, source, _PROCESS)

    def route(self, layout: TupleLayout) -> int:
        """Return the address of the kernel that maps tuples to instances."""
        return self._keys_kernel("route", operator_sources.ROUTE, "i", _ROUTE, layout)

    def map(self, layout: TupleLayout) -> int:
        """Return the address of the kernel that finds the keys of tuples in a map instance."""
        return self._keys_kernel("map", operator_sources.MAP, "row", _MAP, layout)

    def _keys_kernel(
        self, role: str, template: str, row: str, signature: Any, layout: TupleLayout
    ) -> int:
        source = template.format(
            pointers=self._pointers("columns", "", layout),
            tuple=self._tuple_source(row, "", layout),
        )
        functions: Functions = {"user_keys": ("keys", self._operator.keys)}
        return self._address_of((role, layout), functions, source, signature)

    def expire(self) -> int:
        """Return the address of the kernel for expiring windows; 0 if they expire without a call of f_O or f_S."""
        operator = self._operator
        if _expires_without_call(operator):
            return 0
        functions: Functions = {}
        calls = []
        if operator.expire is not None:
            functions["user_expire"] = ("expire", operator.expire)
            calls.append("user_expire(w, out)")
        if operator.window.type == SINGLE:
            calls += [
                f"w[{i}].left = left + {operator.window.advance}"
                for i in range(len(operator.inputs))
            ]
            slide = operator.slide or (purge if operator.stores else None)
            if slide is not None:  # f_S reads windows that have advanced.
                functions["user_slide"] = ("slide", slide)
                calls.append("user_slide(w)")
            calls += _zero_source(operator)
        source = operator_sources.EXPIRE.format(
            size=operator.window.size,
            stride=entry_bytes(operator),
            head=window_tables.HEAD_BYTES,
            max_outputs=operator.max_outputs,
            windows=self._windows_source("at"),
            calls="\n".join(f"            {call}" for call in calls),
        )
        return self._address_of(("expire",), functions, source, _EXPIRE)

    def match(self, left: TupleLayout, right: TupleLayout, *, by_left: bool) -> int:
        """Return the address of the kernel that compares tuples of two inputs.

        If `by_left`, new tuples of the left input are compared with stored tuples of the right input.
        """
        assert self._operator.join is not None
        probe, stored = (left, right) if by_left else (right, left)
        call = "user({}, s)" if by_left else "user(s, {})"
        source = operator_sources.MATCH.format(
            probe_pointers=self._pointers("probes", "p_", probe),
            stored_pointers=self._pointers("others", "s_", stored),
            **{f"probe_{n}": self._tuple_source(f"(i + {n})", "p_", probe) for n in range(4)},
            **{f"call_{n}": call.format(f"p{n}") for n in range(4)},
            probe=self._tuple_source("k", "p_", probe),
            stored=self._tuple_source("j", "s_", stored),
            call=call.format("p"),
            left="k" if by_left else "j",
            right="j" if by_left else "k",
        )
        return self._address_of(
            ("match", left, right, by_left),
            {"user": ("match", self._operator.join.match)},
            source,
            _MATCH,
        )

    def match_vector_bits(self) -> int:
        """Return the vector width of the comparisons in bits; 0 if it is unknown, or the operator is no join."""
        compiled = [kernel for key, kernel in self._compiled.items() if key[0] == "match"]
        return max(map(vector_bits, compiled), default=0)

    def pairs(self, left: TupleLayout, right: TupleLayout) -> int:
        """Return the address of the kernel that emits the results of pairs."""
        assert self._operator.join is not None
        source = operator_sources.PAIRS.format(
            left_pointers=self._pointers("lefts", "l_", left),
            right_pointers=self._pointers("rights", "r_", right),
            left=self._tuple_source("i", "l_", left),
            right=self._tuple_source("j", "r_", right),
            max_outputs=self._operator.max_outputs,
        )
        return self._address_of(
            ("pairs", left, right), {"user": ("emit", self._operator.join.emit)}, source, _PAIRS
        )

    def _address_of(
        self, key: Sequence[object], functions: Functions, source: str, signature: Any
    ) -> int:
        """Return the address of a kernel; `key` has the kernel's role and the layouts that the kernel reads."""
        operator = self._operator
        columns = {name: operator.fields[name] for name in operator.fields.names or ()}
        columns |= operator.lists
        names: dict[str, object] = {
            **library(keyset, stored_tuples, window_tables),
            "Tuple": self._tuple,
            "WINDOW": self._window_type(),
            "DEQUE": self._deque,
            "OUTPUT": emitter.EmitterType(operator.output, stamped=True),
            "KEYS": self._keys,
            "SINGLE_KEY": self._single_key,
            "OWNERS": self._owners,
            "HEAD": window_tables.HEAD_BYTES,
            "STRIDE": entry_bytes(operator),
            "WINDOW_BYTES": window_dtype(operator).itemsize,
            "STAMP": window_tables.STAMP,
            "LEFT": window_tables.LEFT,
            "NO_WINDOW": window_tables.NO_WINDOW,
            "NO_STAMP": window_tables.NO_STAMP,
            "ADVANCE": operator.window.advance,
            "SIZE": operator.window.size,
            **{f"TYPE_{name}": dtype.type for name, dtype in columns.items()},
        }
        also = () if operator.bucket is None else (operator.bucket,)
        width = key[0] == "match"
        return self._address(key, functions, source, signature, names, also=also, width=width)

    def _pointers(self, columns: str, prefix: str, layout: TupleLayout) -> str:
        """Return the lines that load the columns of a stream; see `columns_of`."""
        fields, lists = self._operator.fields.names or (), list(self._operator.lists)
        carried = [True, *(name in layout.fields for name in fields)]
        carried += [name in layout.lists for name in lists for _ in range(3)]
        indices = [index for index, is_carried in enumerate(carried) if is_carried]
        return column_pointers(indices, columns, prefix)

    def _tuple_source(self, row: str, prefix: str, layout: TupleLayout) -> str:
        """Return the expression that builds the tuple of a row."""

        def load(index: int, dtype: str = "int64") -> str:
            return f"load({prefix}column_{index}, {row}, {dtype})"

        parts = [load(0), f"int64({layout.input})"]
        fields = self._operator.fields.names or ()
        for index, name in enumerate(fields, start=1):
            is_carried = name in layout.fields
            parts.append(load(index, f"TYPE_{name}") if is_carried else f"TYPE_{name}(0)")
        for number, (name, dtype) in enumerate(self._operator.lists.items()):
            first = 1 + len(fields) + 3 * number
            address, length = f"{prefix}column_0", "0"
            if name in layout.lists:
                begin, end, address = load(first), load(first + 1), f"{prefix}column_{first + 2}"
                address = f"offset({address}, {begin} * {dtype.itemsize})"
                length = f"{end} - {begin}"
            parts.append(f"carray({address}, ({length},), TYPE_{name})")
        return f"Tuple({', '.join(parts)})"

    def _in_windows(self, layout: TupleLayout) -> str:
        """Return the lines that update the windows of a tuple."""
        operator = self._operator
        slots = max_open_windows(operator)
        parts = self._stored_source(layout, "windows_at" if slots == 1 else "at")
        touch = []
        if _is_lazy(operator):
            touch = [f"w = {self._windows_source('windows_at')}"]
            touch += [f"w[{i}].left = first" for i in range(len(operator.inputs))]
        if slots == 1:
            updates = operator_sources.UPDATE_ONE.format(
                check_room=parts["check_room"],
                at_stored=parts["at_stored"],
                after_update=parts["after_update"],
                time="t.ts" if operator.keeps_time else "first + SIZE",
                at_touch=textwrap.indent("\n".join(touch), " " * 16),
                windows=self._windows_source("windows_at"),
            )
        else:
            updates = operator_sources.UPDATE_OVERLAPPING.format(
                slots=slots,
                inputs=len(operator.inputs),
                at_stored=textwrap.indent(parts["at_stored"], " " * 4),
                windows=self._windows_source("at"),
            )
        update = operator_sources.UPDATE.format(
            unused="first" if slots == 1 else "NO_WINDOW",
            places=_windows_per_entry(operator),
            updates=updates,
            due="not is_null(windows_at)" if operator.bag else "fresh",
            after_keys=parts["after_keys"],
        )
        check = "" if slots == 1 else operator_sources.ADVANCE_LAST
        # Operators with overlapping windows do not emit on update. Joins check the room per key.
        if operator.emits_on_update and operator.join is None and slots == 1:
            room = f"(keys_end - k) * {operator.max_outputs}"
            check = f"        if room(out) < {room}:\n            break\n"
        first = operator_sources.FIRST_LAZY if _is_lazy(operator) else "left"
        return f"{check}        first = {first}\n{update}"

    def _stored_source(self, layout: TupleLayout, address: str) -> dict[str, str]:
        """Return the source around an update of the windows at `address`.

        The source makes room for stored tuples. For a join it also checks the room for outputs, and counts pairs.
        """
        operator = self._operator
        parts = dict.fromkeys(("check_room", "at_stored", "after_update", "after_keys"), "")
        if not operator.stores:
            return parts
        width = window_dtype(operator).itemsize
        rooms = [
            f"has_room(deque_at(offset({address}, {i * width}), DEQUE))"
            for i in range(len(operator.inputs))
        ]
        parts["at_stored"] = operator_sources.AT_STORED.format(
            rooms=" and ".join(rooms), at=address
        )
        if operator.join is not None:
            other = (1 - layout.input) * width
            parts["check_room"] = operator_sources.CHECK_JOIN_ROOM.format(
                other=other, max_outputs=operator.max_outputs
            )
            parts["after_update"] = operator_sources.COUNT_COMPARED.format(other=other)
            parts["after_keys"] = operator_sources.STOP_WITHOUT_ROOM
        return parts

    def _window_type(self) -> Any:
        plain = memory.record_type(window_dtype(self._operator))
        return plain if self._deque is None else stored_tuples.StoringRecord(plain, self._deque)

    def _windows_source(self, address: str) -> str:
        width = window_dtype(self._operator).itemsize
        parts = [
            f"record_at(offset({address}, {i * width}), WINDOW)"
            for i in range(len(self._operator.inputs))
        ]
        return f"({', '.join(parts)},)"


def _is_lazy(operator: Operator) -> bool:
    """Return whether windows are single and expire without a call, so that updates can move them."""
    return _expires_without_call(operator) and operator.window.type == SINGLE


def _expires_without_call(operator: Operator) -> bool:
    """Return whether windows expire without a call of f_O or f_S."""
    slides = operator.slide not in (None, keep) or (
        operator.slide is None and operator.stores and operator.window.type == SINGLE
    )
    return operator.expire is None and not slides


def _zero_source(operator: Operator) -> list[str]:
    """Return the source that sets all bytes of a state to 0 if its value is zero.

    The core removes keys whose state has only zero bytes, and a float may be -0.0.
    """
    bases = {name: operator.state[name].base for name in operator.state.names or ()}
    if all(base.kind not in "fc" for base in bases.values()):
        return []
    parts = []
    targets = []
    for i in range(len(operator.inputs)):
        for name, base in bases.items():
            is_array = operator.state[name].subdtype is not None
            parts.append(f"w[{i}].{name}.any()" if is_array else f"w[{i}].{name} != 0")
            if base.kind in "fc":
                targets.append(f"    w[{i}].{name}{'[:]' if is_array else ''} = 0")
    return [f"if not ({' or '.join(parts)}):", *targets]


def spec_of(
    operator: Operator,
    kernels: OperatorKernels,
    layouts: Sequence[TupleLayout],
    *,
    fused: bool,
    bag: bool = False,
) -> _core.OperatorSpec:
    """Return the core's description of an operator.

    Args:
        operator: the operator.
        kernels: its compiled functions.
        layouts: layouts of the operator's streams; two for fused joins.
        fused: whether the operator is a join that runs over columns.
        bag: whether map instances in front of the operator keep repeated keys.
    """
    join: dict[str, int] = {}
    if fused:
        left, right = layouts
        join = {
            "match_by_left": kernels.match(left, right, by_left=True),
            "match_by_right": kernels.match(left, right, by_left=False),
            "emit_pairs": kernels.pairs(left, right),
        }
    return _core.OperatorSpec(
        name=operator.name,
        advance=operator.window.advance,
        size=operator.window.size,
        single=operator.window.type == SINGLE,
        inputs=len(operator.inputs),
        entry_bytes=entry_bytes(operator),
        buckets=operator.buckets,
        expire=0 if fused else kernels.expire(),
        max_outputs=operator.max_outputs,
        emits_on_update=operator.emits_on_update,
        keeps_time=operator.keeps_time,
        bag=bag,
        stored_fields=stored_tuples.stored_fields(operator)
        if operator.stores and not fused
        else [],
        matches_stored=operator.join is not None and not fused,
        **join,
    )
