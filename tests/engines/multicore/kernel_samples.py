"""Kernels for the tests of their cache."""

from typing import Any

from numba import types

from streamlab.engines.multicore.dgs.kernels import Kernels
from streamlab.engines.multicore.kernels import compile as compiling
from streamlab.workloads.suite.event_window.program import PROGRAM

FORK_JOIN = PROGRAM.parallel[0]
SUM = """\
@kernel
def run(values, n):
    total = 0
    for i in range(n):
        total += user(values[i])
    return total
"""
OF_COLUMN = types.int64(types.CPointer(types.int64), types.int64)


def twice(value):
    return 2 * value


def summing(*, width: bool = True) -> Any:
    functions = {"user": ("apply", twice)}
    return compiling.compile_kernel(
        "a test", functions, SUM, OF_COLUMN, {}, bounds=False, width=width
    )


def join_kernel() -> Any:
    kernels = Kernels(PROGRAM)
    assert kernels.join(FORK_JOIN) != 0
    (made,) = kernels._compiled.values()
    return made
