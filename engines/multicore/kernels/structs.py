"""Provides the places of fields in the core's structs that kernels access, by name, in words of 8 bytes.

The core exports them (bindings/module.cc), so both sides always agree.
"""

from collections import namedtuple
from typing import Any

from streamlab.engines.multicore import _core


def _places(struct: str) -> Any:
    fields: dict[str, int] = _core.STRUCTS[struct]
    return namedtuple(struct, fields)(**fields)  # known at run time only


CALL, FLOW_CALL = _places("StageCall"), _places("FlowCall")
EMIT = _places("Emit")
INDEX, STORED = _places("WindowIndex"), _places("StoredTuples")
KEY_SET, VIEW = _places("KeySet"), _places("InstanceView")
