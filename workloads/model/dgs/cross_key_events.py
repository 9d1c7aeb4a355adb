"""Defines events across keys: events of a keyed program that update the states of many keys.

Source: Stream Processing with Dependency-Guided Synchronization, Definition 2.1. Dependence is a
relation on tags, so a tag may depend on all others (the end of a timeslice, Appendix A.2) or on some
(a household's plugs). The paper forks by key, projecting a map from keys to states. Here the update of
such an event reads and changes the states of its keys in place.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.code.functions import require_plain
from streamlab.workloads.model.errors import ProgramError


class Members(Protocol):
    """Gives access to the states of an event's keys, in ascending order of the keys."""

    def __len__(self) -> int:
        """Return the number of states."""

    def __getitem__(self, index: int) -> Any:
        """Return a state, to be read and changed in place."""

    def key(self, index: int) -> int:
        """Return the key of a state."""


AcrossFn = Callable[[Any, Members, Any, Any], None]
"""`update(own, members, event, out)`: like a state type's `update`, on many states.

`own` is the record of the event's group, zeroed at first. `members[i]` is the state of key
`members.key(i)`, for `i in range(len(members))`.
"""

MAX_GROUP = 2**31 - 1
"""The largest group number; a tag has 32 bits."""

NOTHING = np.dtype([("_", np.int8)])
"""The group record of an `Across` without a state; a record needs at least one field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Across:
    """Declares kinds of events that concern a group of keys, or every key.

    Such an event depends on all events of these keys, and on other events across keys that concern any of
    them. It is processed after all earlier events on which it depends, and before all later ones.

    Attributes:
        name: Unique among the names of the program's state types and `across`.
        kinds: Names of the kinds; `key` of such an event is the number of its group.
        update: Processes such an event.
        group: Maps a key to its group, numbered from 0. None if an event concerns every key; the key of
            such an event is 0.
        state: Structured dtype of a record for each group; None for no record.
        max_outputs: Largest number of records that one update may emit, besides `outputs_per_member`.
        outputs_per_member: Further records that one update may emit for each key that it concerns.
    """

    name: str
    kinds: tuple[str, ...]
    update: AcrossFn
    group: Callable[[int], int] | None = None
    state: np.dtype[np.void] | None = None
    max_outputs: int = 1
    outputs_per_member: int = 0

    def __post_init__(self) -> None:
        where = f"across {self.name}"
        require_plain(where, update=self.update)
        if not self.kinds:
            raise ProgramError(f"{where} has no kinds; name the kinds of events that it processes")
        if self.max_outputs < 0 or self.outputs_per_member < 0:
            raise ProgramError(
                f"{where}: max_outputs is {self.max_outputs} and outputs_per_member "
                f"{self.outputs_per_member}; neither can be negative"
            )
        if self.state is not None and self.state.names is None:
            raise ProgramError(f"{where}: {self.state} is not a structured dtype with named fields")

    @property
    def dtype(self) -> np.dtype[np.void]:
        """Structured dtype of a group's record."""
        return NOTHING if self.state is None else self.state

    def group_of(self, key: int) -> int:
        """Return the group of a key.

        Raises:
            ProgramError: The group is out of range, or not an integer.
        """
        if self.group is None:
            return 0
        group = self.group(key)
        if not isinstance(group, int | np.integer) or not 0 <= group <= MAX_GROUP:
            raise ProgramError(
                f"across {self.name}: the group of key {key} is {group!r}; groups are integers "
                f"from 0 to {MAX_GROUP}"
            )
        return int(group)

    def groups(self, keys: int) -> npt.NDArray[np.int64]:
        """Return the group of each key below `keys`.

        Raises:
            ProgramError: A group is out of range, or not an integer.
        """
        if self.group is None:
            return np.zeros(keys, dtype=np.int64)
        return np.fromiter((self.group_of(key) for key in range(keys)), np.int64, keys)

    def no_members(self, group: int, keys: int) -> str:
        """Return the error text for an event of a group without keys."""
        if self.group:
            return (
                f"across {self.name}: an event of group {group}, but none of the {keys} keys is in "
                "it; the key of such an event is the number of its group"
            )
        return (
            f"across {self.name}: an event with key {group}, but it concerns every key; the key of "
            "such an event is 0"
        )

    def max_outputs_for(self, members: int) -> int:
        """Return the largest number of records that an event may emit if it concerns `members` keys."""
        return self.max_outputs + self.outputs_per_member * members


class StateList:
    """Implements `Members` in plain Python."""

    __slots__ = ("_keys", "_states")

    def __init__(self, keys: Sequence[int], states: Sequence[Any]) -> None:
        """Hold states and their keys."""
        self._keys, self._states = keys, states

    def __len__(self) -> int:
        return len(self._states)

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self._states):
            raise IndexError(f"index {index} of {len(self._states)} members")
        return self._states[index]

    def key(self, index: int) -> int:
        """Return the key of the state at an index."""
        return self._keys[index]
