"""Adds checkpoints to a run of a DGS program: the run resumes from the last checkpoint and writes new checkpoints."""

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.dgs.adaptive.changer import PlanChanger
from streamlab.engines.multicore.dgs.kernels import Kernels
from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.recovery.cuts import (
    cuts_after,
    drop_before,
    find_cuts,
    positions_at,
)
from streamlab.engines.multicore.dgs.recovery.folder import CheckpointFolder
from streamlab.engines.multicore.dgs.recovery.format import Identity
from streamlab.engines.multicore.dgs.recovery.predicate import CheckpointPredicate
from streamlab.engines.multicore.dgs.snapshots import JoinedStates, Layout, SnapshotThread
from streamlab.engines.protocol import OfferedLoad
from streamlab.workloads.model import Columns, DGSProgram, Input, ListColumn
from streamlab.workloads.model.code.fingerprint import code_of


class Recovery:
    """Manages the checkpoint folder of a run: where the run resumes, and its answer.

    Attributes:
        folder: the folder.
        checkpoint: the checkpoint from which the run resumes, or None.
        offsets: number of events of each stream before the checkpoint.
        rest: the input after the checkpoint.
        cuts: the cuts of `rest`.
        dtype: dtype of the records in the file of outputs.
        pause_s: minimum time between two checkpoints.
        declined: number of snapshots for which the program declined a checkpoint.

    Raises:
        EngineError: the folder is not accessible, or belongs to another run.
    """

    def __init__(
        self,
        program: DGSProgram,
        data: Input,
        options: DgsOptions,
        load: OfferedLoad | None,
        kernels: Kernels,
    ) -> None:
        self._predicate = CheckpointPredicate(program, kernels)
        self.declined = 0
        fields = program.output.names or ()
        self.dtype = np.dtype([(name, program.output[name]) for name in fields])
        self.pause_s = options.checkpoint_ms / 1e3
        path = Path(options.checkpoint_folder)
        self.folder = CheckpointFolder(path, identity(program, data), self.dtype.itemsize)
        self.checkpoint = self.folder.checkpoint
        if self.checkpoint is not None and load is not None:
            self.folder.close()
            raise EngineError(
                f"checkpoint folder {path} has a checkpoint at event {self.checkpoint.events}, "
                "but a run under an offered load cannot resume, because its events are due "
                "from the start; run without a load, or use an empty folder"
            )
        self._events = data.events
        self.offsets = self.checkpoint.positions if self.checkpoint else (0,) * len(data.streams)
        self.rest = drop_before(data, self.offsets)
        self.cuts = cuts_after(find_cuts(program, data, options.checkpoint_every), self.offsets)

    def notices(self) -> tuple[str, ...]:
        """Return notices for the user: refused checkpoints, and where the run resumed."""
        if self.checkpoint is None:
            return tuple(
                f"{refused}; the run starts from the beginning" for refused in self.folder.refused
            )
        resumed = (
            f"resumed from checkpoint {self.checkpoint.number} of {self.folder.path}, at event "
            f"{self.checkpoint.events} of {self._events}: earlier runs processed the events "
            "before it, so this run has no rate"
        )
        return (*self.folder.refused, resumed)

    def states(self) -> JoinedStates | None:
        """Return the states to resume from; None at the beginning, and after a complete run."""
        return None if self.checkpoint is None else self.checkpoint.joined

    def wants(self, joined: JoinedStates, stream: int, position: int) -> bool:
        """Return whether the program wants a checkpoint before an event of the rest."""
        return self._predicate.decide(joined, self.rest.streams[stream], position)

    def answer(self) -> Columns:
        """Return all outputs from the file, including those of earlier runs."""
        records = np.frombuffer(self.folder.rows(), dtype=self.dtype)
        return {name: np.ascontiguousarray(records[name]) for name in self.dtype.names or ()}

    def close(self) -> None:
        """Release the folder."""
        self.folder.close()


class CheckpointWriter(SnapshotThread):
    """Writes a run's snapshots as checkpoints in a separate thread, and a last one at the end.

    If a changer is given, it changes the plan at some snapshots.
    """

    def __init__(
        self, recovery: Recovery, core: Any, layout: Layout, changer: PlanChanger | None
    ) -> None:
        super().__init__(core, "checkpoints", self._write_snapshots)
        self._recovery = recovery
        self._layout = layout
        self._changer = changer

    def end(self, *, complete: bool) -> None:
        """Stop the thread. If the run is complete, write the last outputs and a last checkpoint.

        Raises:
            EngineError: a checkpoint could not be written.
        """
        super().end(complete=complete)
        if complete:
            self._core.snapshot_rest()
            ends = tuple(len(stream) for stream in self._recovery.rest.streams)
            self._write(ends, None)

    def _write_snapshots(self, ending: threading.Event) -> None:
        """Handle snapshots until the last: write a checkpoint unless the program declines, and change the plan."""
        while self._core.wait_snapshot():
            ts, stream, position = self._recovery.cuts[self._core.snapshot_cut()].item()
            joined = self._layout.joined_states(self._core)
            stops = self._core.snapshot_stops()
            is_written = stops or self._recovery.wants(joined, stream, position)
            if is_written:
                self._write(positions_at(self._recovery.rest, ts, stream, position), joined)
            else:
                self._recovery.declined += 1
                self._recovery.folder.append(self._rows())
            if self._changer is not None and stops:
                layout = self._changer.change()
                if layout is None:  # The run was aborted; the written snapshot stays until `close`.
                    return
                self._layout = layout
                continue
            if is_written:
                ending.wait(self._recovery.pause_s)
            if self._changer is not None:
                self._changer.ask()
            self._core.free_snapshot()

    def _write(self, positions: Sequence[int], joined: JoinedStates | None) -> None:
        """Write the outputs since the last snapshot, and a checkpoint at positions of the rest of the input."""
        input_positions = tuple(map(sum, zip(positions, self._recovery.offsets, strict=True)))
        self._recovery.folder.write(self._rows(), input_positions, self._layout.plan, joined)

    def _rows(self) -> bytes:
        """Return the outputs since the last snapshot as records."""
        count = self._core.snapshot_rows()
        dtype = self._recovery.dtype
        columns = {name: np.empty(count, dtype=dtype[name]) for name in dtype.names or ()}
        self._core.snapshot_outputs([column.ctypes.data for column in columns.values()])
        records = np.empty(count, dtype=dtype)
        for name, column in columns.items():
            records[name] = column
        return records.tobytes()


def identity(program: DGSProgram, data: Input) -> Identity:
    """Return the identity of a program and an input in a checkpoint folder."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((data.alphabet, data.until_ts)).encode())
    for stream in data.streams:
        columns = {"ts": stream.ts, "tag": stream.tag, **stream.payload}
        digest.update(repr((stream.name, stream.kinds, len(stream))).encode())
        for name, column in columns.items():
            if column is None or isinstance(column, ListColumn):
                continue  # DGS programs cannot read lists.
            digest.update(repr((name, column.dtype.str)).encode())
            digest.update(np.ascontiguousarray(column).view(np.uint8).data)
    return Identity(name=program.name, program=code_of(program), data=digest.hexdigest())
