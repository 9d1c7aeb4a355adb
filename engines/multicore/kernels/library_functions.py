"""Implements `streamlab.workloads.model.arrays` and `.widths` in compiled code."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from streamlab.engines.multicore.kernels.inline_functions import overload_part
from streamlab.workloads.model import arrays, widths


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


@overload(widths.int32, inline="always")
def _int32(value: Any) -> Any:
    def narrow(value: Any) -> Any:
        return np.int32(value)

    return narrow
