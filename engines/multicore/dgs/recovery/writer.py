"""Takes snapshots from the core and writes them, beside the workers."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from engines.multicore.dgs.recovery.cuts import Cuts, positions_at
from engines.multicore.dgs.recovery.folder import CheckpointFolder
from workloads.model import Input


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the core has what a checkpoint holds.

    Attributes:
        tree_of: by key, its tree.
        state_bytes: of a state at a root.
        crossings: by name and number of the group, the core's crossing.
        plan: in words.
    """

    tree_of: npt.NDArray[np.int32]
    state_bytes: int
    crossings: dict[tuple[str, int], int]
    plan: str


class CheckpointWriter:
    """Writes a run's checkpoints while it is open, in a thread of its own, and its end.

    An exception of its own calls the run off, and comes out of `end`.

    Args:
        core: the run's.
        folder: where to.
        data: what the run processes: the input behind `offsets`.
        offsets: by stream, the events that are done already.
        cuts: of `data`.
        layout: of the core.
        rows: dtype of the records in the file of outputs.
        pause_s: shortest time from one checkpoint to the next.
    """

    def __init__(
        self,
        core: Any,
        folder: CheckpointFolder,
        data: Input,
        offsets: Sequence[int],
        cuts: Cuts,
        layout: Layout,
        rows: np.dtype[np.void],
        pause_s: float,
    ) -> None:
        self._core = core
        self._folder = folder
        self._data = data
        self._offsets = offsets
        self._cuts = cuts
        self._layout = layout
        self._dtype = rows
        self._pause_s = pause_s
        self._ending = threading.Event()
        self._done = threading.Event()  # an interrupted `join` takes its thread for ended
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="checkpoints")

    def start(self) -> None:
        """Begin, before the run."""
        self._thread.start()

    def end(self, *, whole: bool) -> None:
        """Stop; after a run that went to its end, make its last outputs durable.

        Raises:
            EngineError: a checkpoint could not be written.
        """
        self._ending.set()
        self._core.close_snapshots(not whole)
        try:
            self._done.wait()
        except BaseException:  # Ctrl-C: the folder is let go next, so nobody may be writing there
            self._core.close_snapshots(True)
            self._done.wait()
            raise
        if self._error is not None:
            raise self._error
        if not whole:
            return
        self._core.take_rest()
        ends = tuple(
            offset + len(stream)
            for offset, stream in zip(self._offsets, self._data.streams, strict=True)
        )
        self._folder.write(self._rows(), ends, plan=self._layout.plan, ended=True)

    def _work(self) -> None:
        try:
            while self._core.wait_snapshot():
                self._write(self._core.snapshot_cut())
                self._ending.wait(self._pause_s)
                self._core.free_snapshot()
        except BaseException as error:  # whatever it is, the run's caller is to have it
            self._error = error
            self._core.call_off()
        finally:
            self._done.set()

    def _write(self, cut: int) -> None:
        cuts, layout = self._cuts, self._layout
        key = int(cuts.ts[cut]), int(cuts.stream[cut]), int(cuts.position[cut])
        here = positions_at(self._data, *key)
        positions = tuple(map(sum, zip(here, self._offsets, strict=True)))
        trees = np.frombuffer(self._core.snapshot_states(layout.state_bytes), dtype=np.uint8)
        states = trees.reshape(-1, layout.state_bytes)[layout.tree_of]
        groups = {
            group: self._core.snapshot_own(crossing) for group, crossing in layout.crossings.items()
        }
        self._folder.write(
            self._rows(), positions, states=states.tobytes(), groups=groups, plan=layout.plan
        )

    def _rows(self) -> bytes:
        """Return the outputs since the last checkpoint as records."""
        count = self._core.snapshot_rows()
        columns = {
            name: np.empty(count, dtype=self._dtype[name]) for name in self._dtype.names or ()
        }
        self._core.snapshot_outputs([column.ctypes.data for column in columns.values()])
        records = np.empty(count, dtype=self._dtype)
        for name, column in columns.items():
            records[name] = column
        return records.tobytes()
