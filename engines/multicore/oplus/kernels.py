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

from streamlab.engines.multicore.kernels import emitter, memory
from streamlab.engines.multicore.kernels.compile import compile_inlined, compile_kernel
from streamlab.engines.multicore.kernels.vector_bits import vector_bits
from streamlab.engines.multicore.oplus import kernel_sources as operator_sources
from streamlab.engines.multicore.oplus import keyset, stored_tuples, window_tables
from streamlab.engines.multicore.oplus.tables import max_open_windows
from streamlab.workloads.model import ListColumn, Operator, Stream
from streamlab.workloads.model.code.fingerprint import UnstableError, fingerprint
from streamlab.workloads.model.operators.instance import store
from streamlab.workloads.model.operators.program import SINGLE, keep
from streamlab.workloads.model.operators.windows import purge

_P, _I = types.voidptr, types.int64
_PROCESS = _I(_P, _I, _I, _P)
_ROUTE = _I(_P, _P, _I, _I, _P)
_MAP = _I(_P, _P, _P, _I, _P)
_EXPIRE = _I(_P, _I, _I, _I, _P)
_MATCH = _I(_P, _I, _I, _P, _I, _I, _P, _I)
_PAIRS = _I(_P, _P, _P, _P, _I, _I, _P)

_Functions = dict[str, tuple[str, Callable[..., Any]]]
"""Roles and functions, by the name that a kernel's source uses."""

_DEQUE_FIELD = "stored tuples"
"""Contains a space, so that no user's function can access the field."""

HEAD_BYTES = 8
"""Size of an entry's head in a window table: its stamp (core/run/key_table.h)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleLayout:
    """Layout of a stream's tuples, as far as a kernel depends on it.

    Attributes:
        input: index into the operator's inputs.
        fields: names of the scalar fields that the stream carries.
        lists: names of the list fields that the stream carries.
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
    """Return a stream's columns after `ts` in the order that kernels expect; None for missing ones.

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
    """Return the dtype of one window instance, padded to 8 bytes.

    The fields are key, left boundary, the deque of stored tuples if the operator has one, and the state.
    """
    fields: list[tuple[str, Any]] = [("key", np.int64), ("left", np.int64)]
    if operator.stores:
        fields.append((_DEQUE_FIELD, np.dtype((np.int64, stored_tuples.TUPLES_WORDS))))
    fields += [(name, operator.state[name]) for name in operator.state.names or ()]
    plain: Any = np.dtype(fields, align=True)
    size = -(-plain.itemsize // 8) * 8
    return np.dtype(
        {
            "names": list(plain.names or ()),
            "formats": [plain[name] for name in plain.names or ()],
            "offsets": [plain.fields[name][1] for name in plain.names or ()],
            "itemsize": size,
        }
    )


def entry_bytes(operator: Operator) -> int:
    """Return the size in bytes of a window table's entry, which holds all windows of a key."""
    return HEAD_BYTES + _places(operator) * window_dtype(operator).itemsize


def _places(operator: Operator) -> int:
    """Return the number of windows in an entry, of all inputs together."""
    return max_open_windows(operator) * len(operator.inputs)


def _name_of(bucket: Callable[[int], int] | None) -> str:
    """Return a unique name for a bucket function, since Numba identifies types by name."""
    if bucket is None:
        return "hash"
    try:
        return fingerprint(bucket)
    except UnstableError:
        return str(id(bucket))


class OperatorKernels:
    """Compiles the functions of one operator on first use, and keeps the code alive.

    Methods raise EngineError if a function does not compile.

    Args:
        operator: the operator.
        bounds: whether its functions check array indices.
    """

    def __init__(self, operator: Operator, *, bounds: bool = False) -> None:
        self._operator = operator
        self._bounds = bounds
        self._kernels: dict[tuple[object, ...], Any] = {}
        names = ("ts", "input", *(operator.fields.names or ()), *operator.lists)
        self._tuple = namedtuple("tuple_", names)  # type: ignore[misc]
        bucket = (
            None if operator.bucket is None else compile_inlined(operator.bucket, bounds=bounds)
        )
        name = f"{operator.buckets} {_name_of(operator.bucket)} {'checked' if bounds else ''}"
        to_bucket = keyset.bucket_function(operator.buckets, bucket)
        self._keys = keyset.KeySetType(name, to_bucket)
        self._owners = keyset.OwnersType(name, to_bucket)
        # The core does not store tuples with lists; a join over columns may read them.
        self._deque = None
        if operator.stores and not operator.lists:
            self._deque = stored_tuples.DequeType(stored_tuples.stored_dtype(operator), self._tuple)

    def process(self, layout: TupleLayout) -> int:
        """Return the address of the kernel that updates window instances with tuples."""
        operator = self._operator
        source = operator_sources.PROCESS.format(
            open_stored=operator_sources.OPEN_STORED if operator.stores else "",
            close_stored=operator_sources.CLOSE_STORED if operator.stores else "",
            pointers=textwrap.indent(self._pointers("columns", "", layout), "    "),
            tuple=self._tuple_source("row", "", layout),
            in_windows=self._in_windows(layout),
        )
        functions: _Functions = {
            "user_keys": ("keys", operator.keys),
            "user": ("update", operator.update or store),
        }
        return self._address("process", functions, source, _PROCESS, (layout,))

    def route(self, layout: TupleLayout) -> int:
        """Return the address of the kernel that maps tuples to instances."""
        source = operator_sources.ROUTE.format(
            pointers=self._pointers("columns", "", layout),
            tuple=self._tuple_source("i", "", layout),
        )
        functions: _Functions = {"user_keys": ("keys", self._operator.keys)}
        return self._address("route", functions, source, _ROUTE, (layout,))

    def map(self, layout: TupleLayout) -> int:
        """Return the address of the kernel that finds the keys of tuples in a map instance."""
        source = operator_sources.MAP.format(
            pointers=self._pointers("columns", "", layout),
            tuple=self._tuple_source("row", "", layout),
        )
        functions: _Functions = {"user_keys": ("keys", self._operator.keys)}
        return self._address("map", functions, source, _MAP, (layout,))

    def expire(self) -> int:
        """Return the address of the kernel for expiring windows; 0 if they expire without a trace."""
        operator = self._operator
        if _traceless(operator):
            return 0
        functions: _Functions = {}
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
            head=HEAD_BYTES,
            max_outputs=operator.max_outputs,
            windows=self._windows_source("at"),
            calls="\n".join(f"            {call}" for call in calls),
        )
        return self._address("expire", functions, source, _EXPIRE, ())

    def match(self, left: TupleLayout, right: TupleLayout, *, by_left: bool) -> int:
        """Return the address of the kernel that compares tuples of two inputs.

        Args:
            left: layout of the left input.
            right: layout of the right input.
            by_left: whether new tuples of the left input are compared with stored ones of the right.
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
        functions: _Functions = {"user": ("match", self._operator.join.match)}
        return self._address("match", functions, source, _MATCH, (left, right, by_left))

    def match_vector_bits(self) -> int:
        """Return the vector width of the comparisons in bits; 0 if it is unknown, or without a join."""
        compiled = [kernel for key, kernel in self._kernels.items() if key[0] == "match"]
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
        functions: _Functions = {"user": ("emit", self._operator.join.emit)}
        return self._address("pairs", functions, source, _PAIRS, (left, right))

    def _address(
        self,
        role: str,
        functions: _Functions,
        source: str,
        signature: Any,
        key: Sequence[object],
    ) -> int:
        full = (role, *key)
        if full not in self._kernels:
            fields = self._operator.fields
            names: dict[str, Any] = {
                "Tuple": self._tuple,
                "WINDOW": self._window_type(),
                "DEQUE": self._deque,
                "deque_at": stored_tuples.deque_at,
                "has_room": stored_tuples.has_room,
                "call_reserve": stored_tuples.call_reserve,
                "OUTPUT": emitter.emitter_type(self._operator.output, stamped=True),
                "KEYS": self._keys,
                "OWNERS": self._owners,
                "HEAD": HEAD_BYTES,
                "STRIDE": entry_bytes(self._operator),
                "WINDOW_BYTES": window_dtype(self._operator).itemsize,
                "NO_WINDOW": window_tables.NO_WINDOW,
                "NO_STAMP": window_tables.NO_STAMP,
                "uint8": np.uint8,
                "ADVANCE": self._operator.window.advance,
                "SIZE": self._operator.window.size,
                **{f"TYPE_{name}": fields[name].type for name in fields.names or ()},
                **{f"TYPE_{name}": dtype.type for name, dtype in self._operator.lists.items()},
                "set_stamp": emitter.set_stamp,
                "call_find": window_tables.call_find,
                "find_or_make": window_tables.find_or_make,
                "make_windows": window_tables.make_windows,
                "free_windows": window_tables.free_windows,
                "prefetch_windows": window_tables.prefetch_windows,
                "prefetch_slot": window_tables.prefetch_slot,
                "open_key_set": keyset.open_key_set,
                "open_owners_of": keyset.open_owners,
                "owners_mask": keyset.owners_mask,
                "count_keys": keyset.count_keys,
                "refused_keys": keyset.refused_keys,
                "key_at": keyset.key_at,
                "bucket_at": keyset.bucket_at,
                "hash_at": keyset.hash_at,
            }
            where = f"operator {self._operator.name}"
            extra = () if self._operator.bucket is None else (self._operator.bucket,)
            self._kernels[full] = compile_kernel(
                where,
                functions,
                source,
                signature,
                names,
                also=extra,
                bounds=self._bounds,
                width=role == "match",
            )
        return int(self._kernels[full].address)

    def _pointers(self, columns: str, prefix: str, layout: TupleLayout) -> str:
        lines = [f"{prefix}ts_column = pointer_at({columns}, 0)"]
        position = 1
        for name in self._operator.fields.names or ():
            if name in layout.fields:
                lines.append(f"{prefix}column_{name} = pointer_at({columns}, {position})")
            position += 1
        for name in self._operator.lists:
            if name in layout.lists:
                lines += [
                    f"{prefix}begin_{name} = pointer_at({columns}, {position})",
                    f"{prefix}end_{name} = pointer_at({columns}, {position + 1})",
                    f"{prefix}values_{name} = pointer_at({columns}, {position + 2})",
                ]
            position += 3
        return "\n".join(f"    {line}" for line in lines)

    def _tuple_source(self, row: str, prefix: str, layout: TupleLayout) -> str:
        parts = [f"load({prefix}ts_column, {row}, int64)", f"int64({layout.input})"]
        for name in self._operator.fields.names or ():
            if name in layout.fields:
                parts.append(f"load({prefix}column_{name}, {row}, TYPE_{name})")
            else:
                parts.append(f"TYPE_{name}(0)")
        for name, dtype in self._operator.lists.items():
            if name in layout.lists:
                begin = f"load({prefix}begin_{name}, {row}, int64)"
                end = f"load({prefix}end_{name}, {row}, int64)"
                parts.append(
                    f"carray(offset({prefix}values_{name}, {begin} * {dtype.itemsize}), "
                    f"({end} - {begin},), TYPE_{name})"
                )
            else:
                parts.append(f"carray({prefix}ts_column, (0,), TYPE_{name})")
        return f"Tuple({', '.join(parts)})"

    def _in_windows(self, layout: TupleLayout) -> str:
        """Return the lines that update the windows of a tuple."""
        operator = self._operator
        slots = max_open_windows(operator)
        parts = self._stored_source(layout, "windows_at" if slots == 1 else "at")
        touch = []
        if _lazy(operator):
            touch = [f"w = {self._windows_source('windows_at')}"]
            touch += [f"w[{i}].left = first" for i in range(len(operator.inputs))]
        if slots == 1:
            updates = operator_sources.UPDATE_ONE.format(
                check_room=parts["check_room"],
                at_stored=parts["at_stored"],
                after_update=parts["after_update"],
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
            places=_places(operator),
            updates=updates,
            due="not is_null(windows_at)" if operator.bag else "fresh",
            after_keys=parts["after_keys"],
        )
        room = ""
        # Operators with overlapping windows do not emit on update. Joins check the room per key.
        if operator.emits_on_update and operator.join is None:
            room = operator_sources.ROOM.format(room=operator.max_outputs)
        if _lazy(operator):
            return room + operator_sources.LAZY_WINDOW.format(update=update)
        if slots == 1:
            return room + operator_sources.ONE_WINDOW.format(update=update)
        return operator_sources.OVERLAPPING_WINDOWS.format(update=update)

    def _stored_source(self, layout: TupleLayout, at: str) -> dict[str, str]:
        """Return the source around an update of windows at address `at`.

        It makes room for stored tuples; for a join it also checks the room for outputs, and counts pairs.
        """
        operator = self._operator
        parts = dict.fromkeys(("check_room", "at_stored", "after_update", "after_keys"), "")
        if not operator.stores:
            return parts
        width = window_dtype(operator).itemsize
        rooms = [
            f"has_room(deque_at(offset({at}, {i * width}), DEQUE))"
            for i in range(len(operator.inputs))
        ]
        parts["at_stored"] = operator_sources.AT_STORED.format(rooms=" and ".join(rooms), at=at)
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


def _lazy(operator: Operator) -> bool:
    """Return whether windows are single and traceless, so that updates can move them."""
    return _traceless(operator) and operator.window.type == SINGLE


def _traceless(operator: Operator) -> bool:
    """Return whether windows expire without a trace: the operator has no f_O, and no f_S to call."""
    slides = operator.slide not in (None, keep) or (
        operator.slide is None and operator.stores and operator.window.type == SINGLE
    )
    return operator.expire is None and not slides


def _zero_source(operator: Operator) -> list[str]:
    """Return the source that sets every byte of a state with value zero to 0, as a float may be -0.0.

    The core removes keys whose state has only zero bytes.
    """
    bases = {name: operator.state[name].base for name in operator.state.names or ()}
    if all(base.kind not in "fc" for base in bases.values()):
        return []
    parts = []
    targets = []
    for i in range(len(operator.inputs)):
        for name, base in bases.items():
            array = operator.state[name].subdtype is not None
            parts.append(f"w[{i}].{name}.any()" if array else f"w[{i}].{name} != 0")
            if base.kind in "fc":
                targets.append(f"    w[{i}].{name}{'[:]' if array else ''} = 0")
    return [f"if not ({' or '.join(parts)}):", *targets]
