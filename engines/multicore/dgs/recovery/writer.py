"""Writes the core's snapshots as checkpoints, in a thread in parallel to the workers."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from streamlab.engines.multicore.dgs.adaptive.changer import PlanChanger
from streamlab.engines.multicore.dgs.joined_state import Layout
from streamlab.engines.multicore.dgs.recovery.cuts import Cuts, positions_at
from streamlab.engines.multicore.dgs.recovery.folder import CheckpointFolder
from streamlab.engines.multicore.dgs.snapshot_thread import SnapshotThread
from streamlab.workloads.model import Input


class CheckpointWriter:
    """Writes a run's checkpoints in a separate thread, and a last one at the end.

    Args:
        core: core of the run.
        folder: folder to write to.
        data: input that the run processes: the events after `offsets`.
        offsets: number of events of each stream that earlier runs processed.
        cuts: cuts of `data`.
        layout: layout of the core's states.
        rows: dtype of the records in the file of outputs.
        pause_s: minimum time between two checkpoints.
        changer: changes the plan at snapshots, which become checkpoints too; None if the plan stays.
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
        self._thread = SnapshotThread(core, "checkpoints", self._work)

    def start(self) -> None:
        """Start the thread; call it before the run starts."""
        self._thread.start()

    def end(self, *, complete: bool) -> None:
        """Stop the thread, and make the last outputs durable.

        Args:
            complete: whether the run is complete; else the last outputs are lost.

        Raises:
            EngineError: a checkpoint could not be written.
        """
        self._thread.end(complete=complete)
        if not complete:
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
                if layout is None:  # The run was aborted; the written snapshot stays until `close`.
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
