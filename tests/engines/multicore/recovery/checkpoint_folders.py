"""Folders with checkpoints of a few rows."""

from contextlib import closing

from streamlab.engines.multicore.dgs.recovery.folder import CheckpointFolder
from streamlab.engines.multicore.dgs.recovery.format import Identity
from streamlab.engines.multicore.dgs.snapshots import JoinedStates

IDENTITY = Identity(name="event_window", program="p" * 64, data="d" * 32)
ROW = 4


def write_checkpoints(path, pieces, identity=IDENTITY):
    """Continue in a folder with a checkpoint for each piece of rows."""
    with closing(CheckpointFolder(path, identity, ROW)) as folder:
        for number, piece in enumerate(pieces):
            joined = JoinedStates(states=bytes([number]) * 8, groups={})
            folder.write(piece, (number,), "a plan", joined)


def recover(path, identity=IDENTITY):
    """Return a folder after its recovery, and its rows."""
    with closing(CheckpointFolder(path, identity, ROW)) as folder:
        return folder, folder.rows()
