"""Compiles the functions of a DGS program to kernels: updates, forks, joins and updates across keys.

A run kernel calls `update` for each event of a run. The kernel depends on the stream: its columns, whether its kind is
constant, and whether all events update one state. These facts become constants, which LLVM folds after it has inlined
the user's function.

A kernel returns 0 if it raises, and another value otherwise.
"""

from dataclasses import dataclass

import numpy as np
from numba import types

from streamlab.engines.multicore.kernels.compile import KernelSet
from streamlab.engines.multicore.kernels.emitter import EmitterType
from streamlab.engines.multicore.kernels.library_functions import MembersType
from streamlab.engines.multicore.kernels.loops import column_pointers
from streamlab.engines.multicore.kernels.memory import record_type
from streamlab.workloads.model import Across, DGSProgram, ForkJoin, StateType, Stream

_POINTER = types.voidptr
_RUN = types.int64(_POINTER, _POINTER, _POINTER, types.int64, types.int64, _POINTER)
_FORK = types.int64(_POINTER, _POINTER, _POINTER, _POINTER, _POINTER)
_ACROSS = types.int64(_POINTER, _POINTER, _POINTER, types.int64, _POINTER, types.int64, _POINTER)
_JOIN = types.int64(_POINTER, _POINTER, _POINTER)
_DECISION = types.int64(_POINTER, _POINTER)

LARGEST_COPIED_BYTES = 4096
"""Maximum size of a state that a kernel copies to the stack during a run of events.

LLVM keeps the fields of a state on the stack in registers, because no other pointer can reach them.
Copying 600 kB (`outlier_detection`) took longer than the events; a thread's stack has 8 MB.
"""

_RUN_SOURCE = """\
@kernel
def run(states, slots, columns, begin, end, out_address):
{pointers}
    out = open_emitter(out_address, OUTPUT)
    n = min(room(out) // {max_outputs}, end - begin)
    event = stack_record(EVENT)
{loop}
    close_emitter(out, out_address)
    return begin + n
"""

_DENSE_LOOP = """\
    state = record_at(states, STATE)
    local = stack_record(STATE)
    copy_record(local, state)
    for i in range(begin, begin + n):
{fields}
        user(local, event, out)
    copy_record(state, local)
"""

_LARGE_LOOP = """\
    state = record_at(states, STATE)
    for i in range(begin, begin + n):
{fields}
        user(state, event, out)
"""

_KEYED_LOOP = """\
    for i in range(begin, begin + n):
        slot = load(slots, load(column_1, i, int32), int32)
        if slot >= 0:
{fields}
            user(record_at(offset(states, slot * 8), STATE), event, out)
"""

_FORK_SOURCE = """\
@kernel
def fork(state, pred1, pred2, first, second):
    left = record_at(first, FIRST)
    right = record_at(second, SECOND)
    zero_record(left)
    zero_record(right)
    may1 = carray(pred1, ({kinds},), boolean)
    may2 = carray(pred2, ({kinds},), boolean)
    user(record_at(state, STATE), may1, may2, left, right)
    return 1
"""

_JOIN_SOURCE = """\
@kernel
def join(first, second, state):
    joined = record_at(state, STATE)
    zero_record(joined)
    user(record_at(first, FIRST), record_at(second, SECOND), joined)
    return 1
"""

_CHECKPOINT_SOURCE = """\
@kernel
def checkpoint(state, event):
    return 2 if user(record_at(state, STATE), record_at(event, EVENT)) else 1
"""

_ACROSS_SOURCE = """\
@kernel
def across(own, states, keys, count, columns, i, out_address):
{pointers}
    out = open_emitter(out_address, OUTPUT)
    event = stack_record(EVENT)
{fields}
    user(record_at(own, OWN), members_of(states, keys, count, MEMBERS), event, out)
    close_emitter(out, out_address)
    return 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLayout:
    """The properties of a stream's events on which a kernel depends.

    Attributes:
        kinds: number of kinds in the alphabet.
        tagged: whether the stream has a tag column.
        kind: the stream's only kind; None if it has several, in the tag column.
        fields: payload fields of the program that the stream carries.
    """

    kinds: int
    tagged: bool
    kind: int | None
    fields: tuple[str, ...]


def layout_of(program: DGSProgram, stream: Stream) -> EventLayout:
    """Return the layout of a stream's events for a program."""
    return EventLayout(
        kinds=len(program.kinds),
        tagged=stream.tag is not None,
        kind=stream.kinds[0] if len(stream.kinds) == 1 else None,
        fields=tuple(name for name in program.event.names or () if name in stream.payload),
    )


def event_dtype(program: DGSProgram) -> np.dtype[np.void]:
    """Return the dtype of the events that a program's functions get."""
    fields = program.event
    head = [("ts", np.int64), ("kind", np.int32), ("key", np.int32)]
    payload = [(name, fields[name]) for name in fields.names or ()]
    event: np.dtype[np.void] = np.dtype([*head, *payload], align=True)
    return event


def _run_source(program: DGSProgram, state: StateType, layout: EventLayout, *, keyed: bool) -> str:
    """Return the source of a run kernel; with `keyed`, the kernel looks up each event's state by tag."""
    pointers, fields = _event_lines(program, layout)
    is_copied = state.dtype.itemsize <= LARGEST_COPIED_BYTES
    loop, depth = (_KEYED_LOOP, 12) if keyed else (_DENSE_LOOP if is_copied else _LARGE_LOOP, 8)
    return _RUN_SOURCE.format(
        pointers=pointers,
        max_outputs=max(1, program.max_outputs_per_event),
        loop=loop.format(fields=_indent(fields, depth)),
    )


def _across_source(program: DGSProgram, layout: EventLayout) -> str:
    """Return the source of a kernel for one event across keys."""
    pointers, fields = _event_lines(program, layout)
    return _ACROSS_SOURCE.format(pointers=pointers, fields=_indent(fields, 4))


def _event_lines(program: DGSProgram, layout: EventLayout) -> tuple[str, list[str]]:
    """Return the source that loads column pointers, and the lines that fill `event` from row `i`."""
    places = {name: index for index, name in enumerate(program.event.names or (), start=2)}
    pointers = [0, *([1] if layout.tagged else []), *(places[name] for name in layout.fields)]
    kind = (
        str(layout.kind)
        if layout.kind is not None
        else f"load(column_1, i, int32) % {layout.kinds}"
    )
    fields = ["event.ts = load(column_0, i, int64)", f"event.kind = {kind}"]
    if layout.tagged:
        fields.append(f"event.key = load(column_1, i, int32) // {layout.kinds}")
    fields += [f"event.{n} = load(column_{places[n]}, i, TYPE_{n})" for n in layout.fields]
    return column_pointers(pointers), fields


def _indent(lines: list[str], depth: int) -> str:
    return "\n".join(" " * depth + line for line in lines)


class Kernels(KernelSet):
    """Compiles the functions of one program. Methods raise EngineError if a function does not compile."""

    def __init__(self, program: DGSProgram, *, bounds: bool = False) -> None:
        super().__init__(f"program {program.name}", bounds=bounds)
        self._program = program

    def run(self, state: StateType, layout: EventLayout, *, keyed: bool) -> int:
        """Return the address of the kernel that updates states with runs of events."""
        source = _run_source(self._program, state, layout, keyed=keyed)
        functions = {"user": ("update", state.update)}
        names = {"STATE": record_type(state.dtype), **self._event_types(layout)}
        return self._address(("run", state.name, source), functions, source, _RUN, names)

    def across(self, across: Across, layout: EventLayout) -> int:
        """Return the address of the kernel that processes one event across keys."""
        source = _across_source(self._program, layout)
        functions = {"user": (f"across {across.name}", across.update)}
        names = {
            "OWN": record_type(across.dtype),
            "MEMBERS": MembersType(record_type(self._program.states[0].dtype)),
            **self._event_types(layout),
        }
        return self._address(("across", across.name, source), functions, source, _ACROSS, names)

    def fork(self, pair: ForkJoin) -> int:
        """Return the address of a fork kernel."""
        source, functions = (
            _FORK_SOURCE.format(kinds=len(self._program.kinds)),
            {"user": ("fork", pair.fork)},
        )
        return self._address(("fork", pair), functions, source, _FORK, self._state_types(pair))

    def join(self, pair: ForkJoin) -> int:
        """Return the address of a join kernel."""
        functions = {"user": ("join", pair.join)}
        return self._address(
            ("join", pair), functions, _JOIN_SOURCE, _JOIN, self._state_types(pair)
        )

    def checkpoint(self) -> int | None:
        """Return the address of the kernel that decides about checkpoints; None if the program does not decide.

        The kernel gets a state and an event of `event_dtype`, and returns 2 for true, 1 for false.
        """
        program = self._program
        if program.checkpoint is None:
            return None
        names = {
            "STATE": record_type(program.states[0].dtype),
            "EVENT": record_type(event_dtype(program)),
        }
        functions = {"user": ("checkpoint", program.checkpoint)}
        return self._address(("checkpoint",), functions, _CHECKPOINT_SOURCE, _DECISION, names)

    def _event_types(self, layout: EventLayout) -> dict[str, object]:
        fields = self._program.event
        return {
            "EVENT": record_type(event_dtype(self._program)),
            "OUTPUT": EmitterType(self._program.output),
            **{f"TYPE_{name}": fields[name].type for name in layout.fields},
        }

    def _state_types(self, pair: ForkJoin) -> dict[str, object]:
        roles = {"STATE": pair.parent, "FIRST": pair.first, "SECOND": pair.second}
        return {role: record_type(self._program.state(name).dtype) for role, name in roles.items()}
