"""Implements `streamlab.workloads.model.widths` in compiled code."""

from typing import Any

import numpy as np
from numba.extending import overload

from streamlab.workloads.model import widths


@overload(widths.int32, inline="always")
def _int32(value: Any) -> Any:
    def narrow(value: Any) -> Any:
        return np.int32(value)

    return narrow
