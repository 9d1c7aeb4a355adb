"""Runs a keyed program event by event: a state for each key, and events across them."""

from typing import Any

from streamlab.workloads.model.dgs.cross_key_events import Across, Concerned
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.streams.records import Emitter, initial_state, state_records


class KeyedRun:
    """A keyed program while it runs, on all keys or on those whose events it is given.

    Args:
        program: what to compute.
        keys: how many keys there are, from 0.
    """

    def __init__(self, program: DGSProgram, keys: int) -> None:
        self._program, self._keys = program, keys
        self._update = program.states[0].update
        self._across = [program.across_of(kind) for kind in range(len(program.kinds))]
        self._states: dict[int, Any] = {}
        self._own: dict[tuple[str, int], Any] = {}
        self._members: dict[tuple[str, int], list[int]] | None = None

    def process(self, event: Any, out: Emitter) -> None:
        """Process the next event."""
        across = self._across[event.kind]
        if across is None:
            self._update(self._state(event.key), event, out)
        else:
            keys = self._keys_of(across, event.key)
            members = Concerned(keys, [self._state(key) for key in keys])
            across.update(self._own_of(across, event.key), members, event, out)

    def held(self) -> Any:
        """Return all states, for `hold` of another run of the program; they can be pickled."""
        return self._states, self._own

    def hold(self, held: Any) -> None:
        """Take over states."""
        self._states, self._own = held

    def _state(self, key: int) -> Any:
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = initial_state(self._program)
        return state

    def _own_of(self, across: Across, group: int) -> Any:
        place = across.name, group
        if place not in self._own:
            self._own[place] = state_records(self._program)[across.name].zeroed()
        return self._own[place]

    def _keys_of(self, across: Across, group: int) -> list[int]:
        if self._members is None:
            self._members = {}
            for one in self._program.across:
                for key, its in enumerate(one.groups(self._keys).tolist()):
                    self._members.setdefault((one.name, its), []).append(key)
        found = self._members.get((across.name, group))
        if found is None:
            raise ProgramError(across.no_members(group, self._keys))
        return found
