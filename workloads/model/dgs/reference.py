"""Runs a keyed program event by event, with a state for each key and events across keys."""

from typing import Any

from streamlab.workloads.model.dgs.cross_key_events import Across, StateList
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.streams.records import Emitter, initial_state, state_records


class KeyedRun:
    """Runs a keyed program on events of all or some of its keys, which count from 0."""

    def __init__(self, program: DGSProgram, keys: int) -> None:
        self._program, self._keys = program, keys
        self._update = program.states[0].update
        self._across = [program.across_of(kind) for kind in range(len(program.kinds))]
        self._states: dict[int, Any] = {}
        self._groups: dict[tuple[str, int], Any] = {}
        self._members: dict[tuple[str, int], list[int]] | None = None

    def process(self, event: Any, out: Emitter) -> None:
        """Process the next event."""
        across = self._across[event.kind]
        if across is None:
            self._update(self._state_of(event.key), event, out)
        else:
            keys = self._keys_of(across, event.key)
            members = StateList(keys, [self._state_of(key) for key in keys])
            place = across.name, event.key
            if place not in self._groups:
                self._groups[place] = state_records(self._program)[across.name].zeroed()
            across.update(self._groups[place], members, event, out)

    def state(self) -> Any:
        """Return all states, for `restore` of another run of the program; they can be pickled."""
        return self._states, self._groups

    def restore(self, saved: Any) -> None:
        """Continue from the states of another run."""
        self._states, self._groups = saved

    def _state_of(self, key: int) -> Any:
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = initial_state(self._program)
        return state

    def _keys_of(self, across: Across, group: int) -> list[int]:
        if self._members is None:
            self._members = {}
            for declared in self._program.across:
                for key, number in enumerate(declared.groups(self._keys).tolist()):
                    self._members.setdefault((declared.name, number), []).append(key)
        keys = self._members.get((across.name, group))
        if keys is None:
            raise ProgramError(across.no_members(group, self._keys))
        return keys
