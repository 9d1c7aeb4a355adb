"""Defines the states of a run at a cut, from which a run can resume under any plan, and the snapshot thread."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedStates:
    """States at a cut, equal to the states of the sequential program.

    Attributes:
        states: states of all keys, in the order of keys.
        groups: states of groups of keys, by name of the `across` and group number.
    """

    states: bytes
    groups: Mapping[tuple[str, int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the core stores the states under one plan.

    Attributes:
        tree_of: the tree of each key.
        state_bytes: size of a key's state.
        crossings: the crossing of each group.
        plan: text of the plan.
    """

    tree_of: npt.NDArray[np.int32]
    state_bytes: int
    crossings: Mapping[tuple[str, int], int]
    plan: str

    def joined_states(self, core: Any) -> JoinedStates:
        """Return the states of the core's current snapshot."""
        trees = np.frombuffer(core.snapshot_states(self.state_bytes), dtype=np.uint8)
        states = trees.reshape(-1, self.state_bytes)[self.tree_of].tobytes()
        groups = {
            group: core.snapshot_group_state(crossing) for group, crossing in self.crossings.items()
        }
        return JoinedStates(states=states, groups=groups)


class SnapshotThread:
    """Runs a function in parallel to a run. If the function raises, the run stops, and `end` raises the exception.

    The function `body` gets an event that is set at the end of the run, and must return when the core
    has no further snapshot.
    """

    def __init__(self, core: Any, name: str, body: Callable[[threading.Event], None]) -> None:
        self._core = core
        self._body = body
        self._ending = threading.Event()
        self._done = threading.Event()  # An interrupted `Thread.join` counts its thread as ended.
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=name)

    def start(self) -> None:
        """Start the thread; call it before the run starts."""
        self._thread.start()

    def end(self, *, complete: bool) -> None:
        """Wait until the thread ends; raise the exception of its function.

        If the run is complete, the thread finishes its current snapshot.
        """
        self._ending.set()
        self._core.close_snapshots(not complete)
        try:
            self._done.wait()
        except BaseException:
            # Ctrl-C: the caller frees the core next, so the thread must end first.
            self._core.close_snapshots(True)
            self._done.wait()
            raise
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # Breaks a reference cycle through the traceback.

    def _work(self) -> None:
        try:
            self._body(self._ending)
        except BaseException as error:  # `end` raises it in the caller's thread.
            self._error = error
            self._core.cancel()
        finally:
            # Breaks a reference cycle that would keep all memory of the run in use.
            del self._body
            self._done.set()
