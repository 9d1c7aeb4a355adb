"""Adds checkpoints to a run of a DGS program: it resumes from the last one and writes new ones."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.dgs.adaptive.changer import PlanChanger
from streamlab.engines.multicore.dgs.joined_state import JoinedStates, Layout
from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.recovery.cuts import Cuts, drop_before, find_cuts
from streamlab.engines.multicore.dgs.recovery.folder import CheckpointFolder
from streamlab.engines.multicore.dgs.recovery.format import Checkpoint, Identity
from streamlab.engines.multicore.dgs.recovery.writer import CheckpointWriter
from streamlab.engines.protocol import OfferedLoad
from streamlab.workloads.model import Columns, DGSProgram, Input, ListColumn
from streamlab.workloads.model.code.fingerprint import code_of


class Recovery:
    """Manages the checkpoints of a run.

    Args:
        program: the program.
        data: the complete input.
        options: options of the run.
        load: offered load; None means full speed.

    Attributes:
        rest: the input after the checkpoint.
        cuts: cuts of the rest.
        checkpoint: checkpoint to resume from; None means the beginning.

    Raises:
        EngineError: the folder is not accessible, or belongs to another run.
    """

    def __init__(
        self, program: DGSProgram, data: Input, options: DgsOptions, load: OfferedLoad | None
    ) -> None:
        fields = program.output.names or ()
        self._rows = np.dtype([(name, program.output[name]) for name in fields])
        self._options = options
        path = Path(options.checkpoint_folder)
        self._folder = CheckpointFolder(path, identity(program, data), self._rows.itemsize)
        try:
            point = self._folder.recover()
            self.checkpoint: Checkpoint | None = point.checkpoint
            if self.checkpoint is not None and load is not None:
                raise EngineError(
                    f"checkpoint folder {path} has a checkpoint at event {self.checkpoint.events}, "
                    "but a run under an offered load cannot resume from one: its events are due "
                    "from the start; run without a load, or give an empty folder"
                )
        except BaseException:
            self._folder.close()
            raise
        self._events = data.events
        self._offsets = self.checkpoint.positions if self.checkpoint else (0,) * len(data.streams)
        self._refused = point.refused
        self.rest = drop_before(data, self._offsets)
        self.cuts: Cuts = find_cuts(program, data, options.checkpoint_every).after(self._offsets)
        self._writer: CheckpointWriter | None = None

    def notices(self) -> tuple[str, ...]:
        """Return notices for the user: refused checkpoints, and where the run resumed."""
        if self.checkpoint is None:
            return tuple(
                f"{refused}; the run starts from the beginning" for refused in self._refused
            )
        resumed = (
            f"resumed from checkpoint {self.checkpoint.number} of {self._folder.path}, at event "
        )
        resumed += f"{self.checkpoint.events} of {self._events}: earlier runs processed the events "
        resumed += "before it, so this run has no rate"
        return (*self._refused, resumed)

    def states(self) -> JoinedStates | None:
        """Return the states to resume from; None at the beginning, and after a complete run."""
        checkpoint = self.checkpoint
        if checkpoint is None or checkpoint.ended:
            return None
        return JoinedStates(states=checkpoint.states, groups=checkpoint.groups)

    def begin(self, core: Any, layout: Layout, changer: PlanChanger | None) -> None:
        """Create the writer for a core's run.

        Args:
            core: core of the run.
            layout: layout of the core's states.
            changer: changes the plan; None if the plan stays.
        """
        self._writer = CheckpointWriter(
            core,
            self._folder,
            self.rest,
            self._offsets,
            self.cuts,
            layout,
            self._rows,
            self._options.checkpoint_ms / 1e3,
            changer,
        )

    def start(self) -> None:
        """Write checkpoints from now on, until `end`."""
        if self._writer is not None:
            self._writer.start()

    def end(self, *, complete: bool) -> None:
        """Stop writing checkpoints, and make the last outputs durable.

        Args:
            complete: whether the run is complete; else the last outputs are lost.

        Raises:
            EngineError: a checkpoint could not be written.
        """
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.end(complete=complete)

    def answer(self) -> Columns:
        """Return all outputs from the file, including those of earlier runs."""
        records = np.frombuffer(self._folder.rows(), dtype=self._rows)
        return {name: np.ascontiguousarray(records[name]) for name in self._rows.names or ()}

    def close(self) -> None:
        """Release the folder."""
        self._folder.close()


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
