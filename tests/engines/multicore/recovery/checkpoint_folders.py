"""Folders with checkpoints of a few rows."""

from streamlab.engines.multicore.dgs.recovery.folder import CheckpointFolder
from streamlab.engines.multicore.dgs.recovery.format import Identity

OURS = Identity(name="event_window", program="p" * 64, data="d" * 32)
ROW = 4


def written(path, rows, identity=OURS):
    """Go on in a folder with a checkpoint for each piece of rows."""
    folder = CheckpointFolder(path, identity, ROW)
    folder.recover()
    for number, piece in enumerate(rows):
        folder.write(piece, (number,), states=bytes([number]) * 8)
    folder.close()


def recovered(path, identity=OURS):
    folder = CheckpointFolder(path, identity, ROW)
    try:
        found = folder.recover()
        return found, folder.rows()
    finally:
        folder.close()
