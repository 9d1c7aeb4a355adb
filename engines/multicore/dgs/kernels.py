"""Compiles the functions of a DGS program to kernels: updates, forks, joins and updates across keys."""

from typing import Any

import numpy as np
from numba import types

from streamlab.engines.multicore.dgs.kernel_sources import (
    JOIN_SOURCE,
    EventLayout,
    across_source,
    fork_source,
    run_source,
)
from streamlab.engines.multicore.kernels.compile import KernelSet
from streamlab.engines.multicore.kernels.emitter import EmitterType
from streamlab.engines.multicore.kernels.members import MembersType
from streamlab.engines.multicore.kernels.memory import record_type
from streamlab.workloads.model import Across, DGSProgram, ForkJoin, StateType

_POINTER = types.voidptr
_RUN = types.int64(_POINTER, _POINTER, _POINTER, types.int64, types.int64, _POINTER)
_FORK = types.int64(_POINTER, _POINTER, _POINTER, _POINTER, _POINTER)
_ACROSS = types.int64(_POINTER, _POINTER, _POINTER, types.int64, _POINTER, types.int64, _POINTER)
_JOIN = types.int64(_POINTER, _POINTER, _POINTER)


class Kernels(KernelSet):
    """Compiles the functions of one program; methods raise EngineError if one does not compile."""

    def __init__(self, program: DGSProgram, *, bounds: bool = False) -> None:
        super().__init__(f"program {program.name}", bounds=bounds)
        self._program = program

    def run(self, state: StateType, layout: EventLayout, *, keyed: bool) -> int:
        """Return the address of the kernel that updates states with runs of events."""
        source = run_source(self._program, state, layout, keyed=keyed)
        functions = {"user": ("update", state.update)}
        names = {"STATE": record_type(state.dtype), **self._event_types(layout)}
        return self._address(("run", state.name, source), functions, source, _RUN, names)

    def across(self, across: Across, layout: EventLayout) -> int:
        """Return the address of the kernel that processes one event across keys."""
        source = across_source(self._program, layout)
        functions = {"user": (f"across {across.name}", across.update)}
        names = {
            "OWN": record_type(across.dtype),
            "MEMBERS": MembersType(record_type(self._program.states[0].dtype)),
            **self._event_types(layout),
        }
        return self._address(("across", across.name, source), functions, source, _ACROSS, names)

    def fork(self, pair: ForkJoin) -> int:
        """Return the address of a fork kernel."""
        source, functions = fork_source(self._program), {"user": ("fork", pair.fork)}
        return self._address(("fork", pair), functions, source, _FORK, self._state_types(pair))

    def join(self, pair: ForkJoin) -> int:
        """Return the address of a join kernel."""
        functions = {"user": ("join", pair.join)}
        return self._address(("join", pair), functions, JOIN_SOURCE, _JOIN, self._state_types(pair))

    def _event_types(self, layout: EventLayout) -> dict[str, object]:
        fields = self._program.event
        head = [("ts", np.int64), ("kind", np.int32), ("key", np.int32)]
        payload = [(name, fields[name]) for name in fields.names or ()]
        event: np.dtype[Any] = np.dtype([*head, *payload], align=True)
        return {
            "EVENT": record_type(event),
            "OUTPUT": EmitterType(self._program.output),
            **{f"TYPE_{name}": fields[name].type for name in layout.fields},
        }

    def _state_types(self, pair: ForkJoin) -> dict[str, object]:
        roles = {"STATE": pair.parent, "FIRST": pair.first, "SECOND": pair.second}
        return {role: record_type(self._program.state(name).dtype) for role, name in roles.items()}
