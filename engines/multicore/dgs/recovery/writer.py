"""Takes snapshots from the core and writes them, beside the workers."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from streamlab.engines.multicore.dgs.adaptive.changer import PlanChanger
from streamlab.engines.multicore.dgs.joined_state import Layout
from streamlab.engines.multicore.dgs.recovery.cuts import Cuts, positions_at
from streamlab.engines.multicore.dgs.recovery.folder import CheckpointFolder
from streamlab.engines.multicore.dgs.snapshot_thread import Beside
from streamlab.workloads.model import Input


class CheckpointWriter:
    """Writes a run's checkpoints while it is open, in a thread of its own, and its end.

    Args:
        core: the run's.
        folder: where to.
        data: what the run processes: the input behind `offsets`.
        offsets: by stream, the events that are done already.
        cuts: of `data`.
        layout: of the core.
        rows: dtype of the records in the file of outputs.
        pause_s: shortest time from one checkpoint to the next.
        changer: of the plan, whose snapshots are checkpoints as well; None: the plan stays.
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
        changer: PlanChanger | None,
    ) -> None:
        self._core = core
        self._folder = folder
        self._data = data
        self._offsets = offsets
        self._cuts = cuts
        self._layout = layout
        self._dtype = rows
        self._pause_s = pause_s
        self._changer = changer
        self._beside = Beside(core, "checkpoints", self._work)

    def start(self) -> None:
        """Begin, before the run."""
        self._beside.start()

    def end(self, *, whole: bool) -> None:
        """Stop; after a run that went to its end, make its last outputs durable.

        Raises:
            EngineError: a checkpoint could not be written.
        """
        self._beside.end(whole=whole)
        if not whole:
            return
        self._core.take_rest()
        ends = tuple(
            offset + len(stream)
            for offset, stream in zip(self._offsets, self._data.streams, strict=True)
        )
        self._folder.write(self._rows(), ends, plan=self._layout.plan, ended=True)

    def _work(self, ending: threading.Event) -> None:
        while self._core.wait_snapshot():
            self._write(self._core.snapshot_cut())
            if self._changer is not None and self._core.snapshot_stops():
                layout = self._changer.change()
                if layout is None:  # the snapshot, which is written, stays until the run is closed
                    return
                self._layout = layout
                continue
            ending.wait(self._pause_s)
            if self._changer is not None:
                self._changer.ask()
            self._core.free_snapshot()

    def _write(self, cut: int) -> None:
        here = positions_at(self._data, *self._cuts.key(cut))
        positions = tuple(map(sum, zip(here, self._offsets, strict=True)))
        joined = self._layout.joined(self._core)
        self._folder.write(
            self._rows(),
            positions,
            states=joined.states,
            groups=dict(joined.groups),
            plan=self._layout.plan,
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
