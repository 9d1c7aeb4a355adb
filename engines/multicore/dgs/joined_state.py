"""Defines the joined states of a run at a cut, from which a run can resume under any plan."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedStates:
    """States at a cut, equal to those of the sequential program.

    Attributes:
        states: bytes of the states of all keys, in key order.
        groups: bytes of the states of groups of keys, by name of their `across` and group number.
    """

    states: bytes
    groups: Mapping[tuple[str, int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the core stores the states under one plan.

    Attributes:
        tree_of: tree of each key.
        state_bytes: size of a root's state in bytes.
        crossings: the core's crossing, by name of the `across` and group number.
        plan: text of the plan.
    """

    tree_of: npt.NDArray[np.int32]
    state_bytes: int
    crossings: Mapping[tuple[str, int], int]
    plan: str

    def joined(self, core: Any) -> JoinedStates:
        """Return the states of the core's current snapshot."""
        trees = np.frombuffer(core.snapshot_states(self.state_bytes), dtype=np.uint8)
        states = trees.reshape(-1, self.state_bytes)[self.tree_of].tobytes()
        groups = {group: core.snapshot_own(crossing) for group, crossing in self.crossings.items()}
        return JoinedStates(states=states, groups=groups)
