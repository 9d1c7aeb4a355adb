"""Asks a program whether to write a checkpoint at a cut, and passes it the joined state at the cut.

Source: DGS paper, appendix D.2, "depending on an arbitrary user defined predicate".
"""

import ctypes

import numpy as np

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.dgs.kernels import Kernels, event_dtype
from streamlab.engines.multicore.dgs.snapshots import JoinedStates
from streamlab.engines.multicore.dgs.wiring import payload_of
from streamlab.workloads.model import DGSProgram, Stream

_TRUE = 2
"""Result of a compiled predicate that holds; 1 if it does not hold, 0 if it raised an exception."""
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


class CheckpointPredicate:
    """Decides by the program's function `checkpoint`; a program without the function accepts all checkpoints."""

    def __init__(self, program: DGSProgram, kernels: Kernels) -> None:
        address = kernels.checkpoint()
        self._call = None if address is None else _FUNCTION(address)
        self._kernels = kernels  # Keeps the compiled code in memory.
        self._program = program
        self._event = np.zeros(1, dtype=event_dtype(program))

    def decide(self, joined: JoinedStates, stream: Stream, position: int) -> bool:
        """Return whether to write a checkpoint at the cut before an event of a stream.

        Raises:
            EngineError: the program's function raised.
        """
        if self._call is None:
            return True
        event, key, kind = self._event, 0, stream.kinds[0]
        if stream.tag is not None:
            key, kind = divmod(int(stream.tag[position]), len(self._program.kinds))
        event["ts"], event["kind"], event["key"] = stream.ts[position], kind, key
        columns = payload_of(stream, self._program)
        for name, column in zip(self._program.event.names or (), columns, strict=True):
            event[name] = 0 if column is None else column[position]
        dtype = self._program.states[0].dtype
        state = np.frombuffer(joined.states, dtype, count=1, offset=key * dtype.itemsize).copy()
        result = self._call(state.ctypes.data, event.ctypes.data)
        if not result:
            raise EngineError(
                f"program {self._program.name}: function checkpoint raised at event "
                f"{position} of stream {stream.name}; call it in Python with this state to debug it"
            )
        return bool(result == _TRUE)
