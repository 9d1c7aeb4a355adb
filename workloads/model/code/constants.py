"""Collects the integer constants of a program's functions, so that generated inputs can include them.

A function that looks for item 10001, or for gaps above 3,600 s, does almost nothing on small random
numbers. Inputs that contain its constants and their neighbours take both of its branches.
"""

from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from streamlab.workloads.model.code.fingerprint import names_of
from streamlab.workloads.model.code.functions import memo
from streamlab.workloads.model.dataflow import Dataflow
from streamlab.workloads.model.pipeline.program import Pipeline

MAX = 64
"""Largest number of constants of a program, smallest first; larger ones are mostly masks."""


@memo(16)
def constants(program: Pipeline | Dataflow) -> tuple[int, ...]:
    """Return the constants of a program's functions and of the functions and values they use, ascending.

    Constants are integers below 2^31 in magnitude. Small random inputs cover magnitudes up to 3, so
    these are left out.
    """
    values: set[int] = set()
    visited: set[int] = set()
    for function in _functions(program):
        values |= {value for value in _value_constants(function, visited) if 3 < abs(value) < 2**31}
    return tuple(sorted(sorted(values, key=abs)[:MAX]))


def _functions(program: Pipeline | Dataflow) -> Iterator[Any]:
    if isinstance(program, Pipeline):
        for stage in program.stages:
            yield from (stage.apply, stage.key)
        return
    for vertex in program.vertices:
        if vertex.operator is not None:
            yield from vertex.operator.functions.values()


def _value_constants(value: Any, visited: set[int]) -> Iterator[int]:
    """Yield the constants of a value; functions are added to `visited` by id, and not entered again."""
    value = getattr(value, "py_func", value)  # a Numba dispatcher wraps a function
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        yield int(value)
    elif isinstance(value, tuple | frozenset):
        for item in value:
            yield from _value_constants(item, visited)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.size <= MAX:
        yield from value.ravel().tolist()
    elif isinstance(value, FunctionType) and id(value) not in visited:
        visited.add(id(value))
        yield from _value_constants(value.__defaults__ or (), visited)
        for cell in value.__closure__ or ():
            yield from _value_constants(cell.cell_contents, visited)
        for name in names_of(value.__code__):
            yield from _value_constants(value.__globals__.get(name), visited)
        yield from _code_constants(value.__code__)


def _code_constants(code: CodeType) -> Iterator[int]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_constants(constant)
        else:
            yield from _value_constants(constant, set())
