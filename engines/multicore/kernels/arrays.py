"""Implements `streamlab.workloads.model.arrays` in compiled code."""

from typing import Any

from numba import types

from streamlab.engines.multicore.kernels.inline_functions import overload_part
from streamlab.workloads.model import arrays


@overload_part(arrays.copy)
def _copy(values: Any, others: Any) -> Any:
    if not all(isinstance(kind, types.Array) and kind.ndim == 1 for kind in (values, others)):
        return None

    def copy(values: Any, others: Any) -> None:
        if len(values) != len(others):
            raise ValueError("cannot copy an array into one of another length")
        for i in range(len(others)):
            others[i] = values[i]

    return copy
