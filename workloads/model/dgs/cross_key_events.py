"""Events across keys: those of a keyed program that concern the states of many keys at once.

Source: Stream Processing with Dependency-Guided Synchronization, Definition 2.1, where dependence
is a relation on tags, so that a tag may depend on all others (the end of a timeslice, Appendix A.2)
or on some (a household's plugs). The paper's fork by key is a projection of a map from keys to
states: here such an event's update is given the states of its keys where they lie.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.code.functions import require_plain
from streamlab.workloads.model.errors import ProgramError


class Members(Protocol):
    """The states that an event concerns, in the order of their keys."""

    def __len__(self) -> int:
        """Return how many there are."""

    def __getitem__(self, index: int) -> Any:
        """Return a state, to be read and changed in place."""

    def key(self, index: int) -> int:
        """Return whose it is."""


AcrossFn = Callable[[Any, Members, Any, Any], None]
"""`update(own, members, event, out)`: as a state type's `update`, on many states.

`own` is the record of the event's group, zeroed at first. `for i in range(len(members))` goes
through the states `members[i]`, whose keys are `members.key(i)`.
"""

MOST_GROUP = 2**31 - 1
"""A tag has 32 bits."""

NOTHING = np.dtype([("_", np.int8)])
"""What an `Across` without a state of its own has: a record has at least one field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Across:
    """Kinds of events that concern a group of keys, or every key.

    Such an event depends on all events of these keys and on all others across keys that concern one
    of them, so it is processed behind all that come before it and before all that follow.

    Attributes:
        name: unique among the program's state types and these.
        kinds: names of the kinds; `key` of such an event is the number of its group.
        update: what such an event does.
        group: the group of a key, from 0; None: an event concerns every key, and its key is 0.
        state: structured dtype of the record that each group has of its own; None: none.
        max_outputs: the most records that one update may emit,
        outputs_per_member: beside so many for each key that it concerns.
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
            raise ProgramError(f"{where} has no kinds; name those whose events it processes")
        if self.max_outputs < 0 or self.outputs_per_member < 0:
            raise ProgramError(
                f"{where}: max_outputs is {self.max_outputs} and outputs_per_member "
                f"{self.outputs_per_member}; neither can be negative"
            )
        if self.state is not None and self.state.names is None:
            raise ProgramError(f"{where}: {self.state} is not a structured dtype with named fields")

    @property
    def dtype(self) -> np.dtype[np.void]:
        """Structured dtype of a group's own record."""
        return NOTHING if self.state is None else self.state

    def group_of(self, key: int) -> int:
        """Return the group of a key.

        Raises:
            ProgramError: it is negative, or no integer.
        """
        if self.group is None:
            return 0
        found = self.group(key)
        if not isinstance(found, int | np.integer) or not 0 <= found <= MOST_GROUP:
            raise ProgramError(
                f"across {self.name}: the group of key {key} is {found!r}; groups are integers "
                f"from 0 to {MOST_GROUP}"
            )
        return int(found)

    def groups(self, keys: int) -> npt.NDArray[np.int64]:
        """Return the group of each key below `keys`.

        Raises:
            ProgramError: one is negative, or no integer.
        """
        if self.group is None:
            return np.zeros(keys, dtype=np.int64)
        return np.fromiter((self.group_of(key) for key in range(keys)), np.int64, keys)

    def no_members(self, group: int, keys: int) -> str:
        """Return what is wrong with an event of a group that no key is in."""
        which = (
            "an event of group" if self.group else "it concerns every key, and an event with key"
        )
        return (
            f"across {self.name}: {which} {group}, which none of the {keys} keys is in; the key of "
            "such an event is the number of its group"
        )

    def most_outputs(self, members: int) -> int:
        """Return the most records that one event may emit which concerns so many keys."""
        return self.max_outputs + self.outputs_per_member * members


class Concerned:
    """`Members` of plain Python."""

    __slots__ = ("_keys", "_states")

    def __init__(self, keys: Sequence[int], states: Sequence[Any]) -> None:
        """Hold states and whose they are."""
        self._keys, self._states = keys, states

    def __len__(self) -> int:
        return len(self._states)

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self._states):
            raise IndexError(f"index {index} of {len(self._states)} members")
        return self._states[index]

    def key(self, index: int) -> int:
        """Return whose state is at an index."""
        return self._keys[index]
