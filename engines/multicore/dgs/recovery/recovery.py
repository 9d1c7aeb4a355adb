"""What a run of a DGS program that writes checkpoints has beside one that does not."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.dgs.adaptive.changer import PlanChanger
from streamlab.engines.multicore.dgs.joined_state import JoinedStates, Layout
from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.recovery.cuts import Cuts, behind, find_cuts
from streamlab.engines.multicore.dgs.recovery.folder import CheckpointFolder
from streamlab.engines.multicore.dgs.recovery.format import Checkpoint, Identity
from streamlab.engines.multicore.dgs.recovery.writer import CheckpointWriter
from streamlab.engines.protocol import OfferedLoad
from streamlab.workloads.model import Columns, DGSProgram, Input, ListColumn
from streamlab.workloads.model.code.fingerprint import code_of


class Recovery:
    """The checkpoints of a run, and the one that it goes on from.

    Args:
        program: what runs.
        data: on which input, all of it.
        options: of the run.
        load: offered; None: all at once.

    Attributes:
        rest: the input behind that checkpoint.
        cuts: of the rest.
        checkpoint: from which it goes on; None: from the beginning.

    Raises:
        EngineError: the folder cannot be used, or holds another run.
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
            found = self._folder.recover()
            self.checkpoint: Checkpoint | None = found.checkpoint
            if self.checkpoint is not None and load is not None:
                raise EngineError(
                    f"checkpoint folder {path} has a checkpoint at event {self.checkpoint.events} "
                    "to go on from, which a run under an offered load cannot: its events are due "
                    "from the start; run it without a load, or give an empty folder"
                )
        except BaseException:
            self._folder.close()
            raise
        self._events = data.events
        self._offsets = self.checkpoint.positions if self.checkpoint else (0,) * len(data.streams)
        self._refused = found.refused
        self.rest = behind(data, self._offsets)
        self.cuts: Cuts = find_cuts(program, data, options.checkpoint_every).behind(self._offsets)
        self._writer: CheckpointWriter | None = None

    def notices(self) -> tuple[str, ...]:
        """Return what whoever asked for the run should know."""
        if self.checkpoint is None:
            beginning = " it begins anew" if self._refused else ""
            return tuple(f"{refused};{beginning}" for refused in self._refused)
        went_on = (
            f"went on from checkpoint {self.checkpoint.number} of {self._folder.path}, at event "
        )
        went_on += f"{self.checkpoint.events} of {self._events}: what was before it was done by "
        went_on += "earlier runs, so this one has no rate"
        return (*self._refused, went_on)

    def states(self) -> JoinedStates | None:
        """Return the states to go on from; None: those of the beginning, or nobody needs any."""
        found = self.checkpoint
        if found is None or found.ended:
            return None
        return JoinedStates(states=found.states, groups=found.groups)

    def begin(self, core: Any, layout: Layout, changer: PlanChanger | None) -> None:
        """Make ready to write the checkpoints of a core's run, and to have its plan changed."""
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
        """Have checkpoints written until `end`."""
        if self._writer is not None:
            self._writer.start()

    def end(self, *, whole: bool) -> None:
        """Make what is left durable, if the run went to its end.

        Raises:
            EngineError: a checkpoint could not be written.
        """
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.end(whole=whole)

    def answer(self) -> Columns:
        """Return all outputs, those of earlier runs with them, from the file."""
        records = np.frombuffer(self._folder.rows(), dtype=self._rows)
        return {name: np.ascontiguousarray(records[name]) for name in self._rows.names or ()}

    def close(self) -> None:
        """Let others run in the folder."""
        self._folder.close()


def identity(program: DGSProgram, data: Input) -> Identity:
    """Return what a program and an input are known by in a folder of checkpoints."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((data.alphabet, data.until_ts)).encode())
    for stream in data.streams:
        columns = {"ts": stream.ts, "tag": stream.tag, **stream.payload}
        digest.update(repr((stream.name, stream.kinds, len(stream))).encode())
        for name, column in columns.items():
            if column is None or isinstance(column, ListColumn):
                continue  # programs take no lists
            digest.update(repr((name, column.dtype.str)).encode())
            digest.update(np.ascontiguousarray(column).view(np.uint8).data)
    return Identity(name=program.name, program=code_of(program), data=digest.hexdigest())
