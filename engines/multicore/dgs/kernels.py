"""Compiles the functions of a DGS program to kernels: updates, forks, joins and updates across keys."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from streamlab.engines.multicore.dgs.kernel_sources import (
    EventLayout,
    across_source,
    fork_source,
    join_source,
    run_source,
)
from streamlab.engines.multicore.kernels import emitter, memory
from streamlab.engines.multicore.kernels.compile import compile_kernel
from streamlab.engines.multicore.kernels.members import MembersType
from streamlab.workloads.model import Across, DGSProgram, ForkJoin, StateType

_POINTER = types.voidptr
_RUN = types.int64(_POINTER, _POINTER, _POINTER, types.int64, types.int64, _POINTER)
_FORK = types.int64(_POINTER, _POINTER, _POINTER, _POINTER, _POINTER)
_ACROSS = types.int64(_POINTER, _POINTER, _POINTER, types.int64, _POINTER, types.int64, _POINTER)
_JOIN = types.int64(_POINTER, _POINTER, _POINTER)


class Kernels:
    """Compiles the functions of one program on first use, and keeps the code alive.

    Methods raise EngineError if a function does not compile.

    Args:
        program: the program.
        bounds: whether its functions check array indices.
    """

    def __init__(self, program: DGSProgram, *, bounds: bool = False) -> None:
        self._program = program
        self._bounds = bounds
        self._compiled: dict[tuple[object, ...], Any] = {}

    def run(self, state: StateType, layout: EventLayout, *, keyed: bool) -> int:
        """Return the address of the kernel that updates states with runs of events."""
        names = {"STATE": memory.record_type(state.dtype), **self._event_types(layout)}
        source = run_source(self._program, state, layout, keyed=keyed)
        return self._address("update", state.update, source, _RUN, names)

    def across(self, across: Across, layout: EventLayout) -> int:
        """Return the address of the kernel that processes one event across keys."""
        key_state = memory.record_type(self._program.states[0].dtype)
        names = {
            "OWN": memory.record_type(across.dtype),
            "MEMBERS": MembersType(key_state),
            **self._event_types(layout),
        }
        source = across_source(self._program, layout)
        return self._address(f"across {across.name}", across.update, source, _ACROSS, names)

    def fork(self, pair: ForkJoin) -> int:
        """Return the address of a fork kernel."""
        return self._address(
            "fork", pair.fork, fork_source(self._program), _FORK, self._state_types(pair)
        )

    def join(self, pair: ForkJoin) -> int:
        """Return the address of a join kernel."""
        return self._address("join", pair.join, join_source(), _JOIN, self._state_types(pair))

    def _event_types(self, layout: EventLayout) -> dict[str, object]:
        fields = self._program.event
        return {
            "EVENT": memory.record_type(_event_dtype(self._program)),
            "OUTPUT": emitter.emitter_type(self._program.output),
            **{f"TYPE_{name}": fields[name].type for name in layout.fields},
        }

    def _state_types(self, pair: ForkJoin) -> dict[str, object]:
        roles = {"STATE": pair.parent, "FIRST": pair.first, "SECOND": pair.second}
        return {
            role: memory.record_type(self._program.state(name).dtype)
            for role, name in roles.items()
        }

    def _address(
        self,
        role: str,
        function: Callable[..., Any],
        source: str,
        signature: Any,
        names: dict[str, object],
    ) -> int:
        key = (role, function, source, tuple(repr(value) for value in names.values()))
        if key not in self._compiled:
            self._compiled[key] = compile_kernel(
                f"program {self._program.name}",
                {"user": (role, function)},
                source,
                signature,
                names,
                bounds=self._bounds,
            )
        return int(self._compiled[key].address)


def _event_dtype(program: DGSProgram) -> np.dtype[np.void]:
    head = [("ts", np.int64), ("kind", np.int32), ("key", np.int32)]
    payload = [(name, program.event[name]) for name in program.event.names or ()]
    return np.dtype([*head, *payload], align=True)
