"""The states of a run at a cut, joined: of no plan, so that any plan goes on from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedStates:
    """States as the sequential program has them at a cut.

    Attributes:
        states: of the keys, one after the other.
        groups: of groups of keys, by the name of their `across` and number.
    """

    states: bytes
    groups: Mapping[tuple[str, int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the core has them, under one plan.

    Attributes:
        tree_of: by key, its tree.
        state_bytes: of a state at a root.
        crossings: by name and number of the group, the core's crossing.
        plan: in words.
    """

    tree_of: npt.NDArray[np.int32]
    state_bytes: int
    crossings: Mapping[tuple[str, int], int]
    plan: str

    def joined(self, core: Any) -> JoinedStates:
        """Return the states of the snapshot that a core has."""
        trees = np.frombuffer(core.snapshot_states(self.state_bytes), dtype=np.uint8)
        states = trees.reshape(-1, self.state_bytes)[self.tree_of].tobytes()
        groups = {group: core.snapshot_own(crossing) for group, crossing in self.crossings.items()}
        return JoinedStates(states=states, groups=groups)
