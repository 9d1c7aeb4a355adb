"""Runs an engine once under valgrind and counts only the instructions of the timed part.

    valgrind --tool=callgrind --instr-atstart=no ... python -m streamlab.lab.gate.counted_run SPEC

The run reads no clock and checks no answer; a separate trial does both.
The count includes all threads and forked processes, but no other programs that the engine starts.
"""

import ctypes
import gc
import mmap
import os
import sys
from pathlib import Path

from streamlab.engines.environment import activate
from streamlab.engines.errors import UnsupportedError
from streamlab.engines.protocol import Task
from streamlab.engines.registry import engine as find_engine
from streamlab.lab.errors import GateError
from streamlab.lab.trial.collector import collect_from_now_on
from streamlab.lab.trial.scratch import temporary_folder
from streamlab.lab.trial.spec import EngineTrial, read_job, workload_of
from streamlab.workloads.datasets.integrity import verify

MACHINE = "x86_64"
"""The request below is machine code of this architecture."""

# VALGRIND_DO_CLIENT_REQUEST for amd64 (valgrind's public header), as a C function of the request's
# address. Four rotations by 128 bits in total and an exchange of a register with itself do nothing
# on a CPU, and mark a request to valgrind. The answer is in rdx.
_REQUEST = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
_RUNNING_ON_VALGRIND = 0x1001
_CALLGRIND = ord("C") << 24 | ord("T") << 16
_START, _STOP = _CALLGRIND + 4, _CALLGRIND + 5
"""CALLGRIND_START_INSTRUMENTATION and CALLGRIND_STOP_INSTRUMENTATION."""
_WORDS = 6
"""Words of a request: its number and five arguments."""


def main(arguments: list[str]) -> None:
    """Run the trial of a specification and exit."""
    gc.disable()  # `collect_from_now_on` enables it for the engine's objects.
    (path,) = arguments
    job = read_job(Path(path))
    assert isinstance(job, EngineTrial)
    valgrind = Valgrind()
    if valgrind.request(_RUNNING_ON_VALGRIND) == 0:
        raise GateError(
            "this process does not run under valgrind; start it with `valgrind --tool=callgrind`"
        )
    workload = workload_of(job)
    activate(job.engine)
    engine = find_engine(job.engine)
    with temporary_folder("lab-count-") as scratch:
        task = Task(
            workload=workload,
            dataset=verify(job.dataset),
            variant=job.variant,
            workers=job.workers,
            batch=job.batch,
            options=job.options,
            scratch=scratch,
        )
        reason = engine.unsupported(task)
        if reason is not None:
            raise UnsupportedError(reason)
        collect_from_now_on()
        prepared = engine.prepare(task)
        valgrind.request(_START)
        prepared.run()
        valgrind.request(_STOP)
        prepared.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # does not wait for threads that an engine left running


class Valgrind:
    """Sends requests to valgrind; without valgrind they do nothing."""

    def __init__(self) -> None:
        """Map the machine code of a request into memory."""
        access = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        memory = mmap.mmap(-1, len(_REQUEST), prot=access)
        memory.write(_REQUEST)
        self._code = ctypes.c_char.from_buffer(memory)  # keeps the memory mapped
        prototype = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)
        self._call = prototype(ctypes.addressof(self._code))

    def request(self, number: int) -> int:
        """Send a request without arguments and return the answer; 0 without valgrind."""
        words = (ctypes.c_uint64 * _WORDS)(number)
        answer: int = self._call(ctypes.addressof(words))
        return answer


if __name__ == "__main__":
    main(sys.argv[1:])
