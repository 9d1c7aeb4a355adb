"""Manages the folder of a restartable run: its last checkpoints and all outputs before them.

    lock                  held by the running process
    checkpoint-00000012   the last two checkpoints, see format.py
    unfinished-...        a checkpoint that is being written
    outputs.rows          records of the program's output, one after the other

The newest checkpoint whose rename reached the disk survives a crash at any time, with all outputs before it.
Later bytes in the file of outputs belong to a checkpoint that was never completed; a restart cuts them off.
"""

import fcntl
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.dgs.recovery.format import (
    Checkpoint,
    Identity,
    RefusedError,
    decode,
    encode,
)
from streamlab.engines.multicore.dgs.snapshots import JoinedStates

CHECKPOINT_COUNT = 2
"""Number of checkpoints to keep: the newest, and the previous one in case the newest is unreadable."""
_PREFIX = "checkpoint-"
_NAME = re.compile(_PREFIX + r"([0-9]{8,})", re.ASCII)
_UNFINISHED = "unfinished-"
_READ_BYTES = 1 << 20


class CheckpointFolder:
    """A checkpoint folder, locked while this object is open; created if it is missing.

    Finds the newest usable checkpoint, and truncates the file of outputs to it. `row_bytes` is the size of an output
    record.

    Attributes:
        path: path of the folder.
        checkpoint: checkpoint from which a run resumes; None if it starts at the beginning.
        refused: reasons why newer checkpoints are unusable.

    Raises:
        EngineError: the folder is not accessible, another process uses it, or all its checkpoints
            belong to another run.
    """

    def __init__(self, path: Path, identity: Identity, row_bytes: int) -> None:
        self.path = path
        self.checkpoint: Checkpoint | None = None
        self.refused: list[str] = []
        self._identity = identity
        self._row_bytes = row_bytes
        self._outputs_path = path / "outputs.rows"
        with ExitStack() as stack:
            with self._io_errors("opened"):
                path.mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context((path / "lock").open("ab"))
            with self._io_errors("locked"):
                _lock(lock, path)
            self._recover()
            self._rows = self.checkpoint.rows if self.checkpoint else 0
            self._crc = self.checkpoint.rows_crc if self.checkpoint else 0
            with self._io_errors("written to"):
                for unfinished in path.glob(f"{_UNFINISHED}*"):
                    unfinished.unlink()
                # No buffer: after a write to a full disk failed, `close` would write the buffer again.
                self._outputs = stack.enter_context(self._outputs_path.open("ab", buffering=0))
                self._outputs.truncate(self._rows * row_bytes)
                os.fsync(self._outputs.fileno())
                _sync_folder(path)
            self._files = stack.pop_all()

    def _recover(self) -> None:
        """Find the usable checkpoints; set `checkpoint` to the newest one, and `refused`."""
        foreign = False
        self._checkpoint_paths: list[Path] = []
        with self._io_errors("read"):
            stored = sorted(self._checkpoints(), reverse=True)
            for _, path in stored:
                try:
                    checkpoint = decode(path.read_bytes(), self._identity)
                    self._check_outputs(checkpoint)
                except RefusedError as error:
                    if self.checkpoint is None:
                        self.refused.append(f"{path} is refused: {error}")
                        foreign |= error.foreign
                    continue
                self.checkpoint = self.checkpoint or checkpoint
                self._checkpoint_paths.insert(0, path)
        if self.checkpoint is None and foreign:
            text = "; ".join(self.refused)
            raise EngineError(f"{text}; use another checkpoint folder, or empty this one")
        self._number = 1 + stored[0][0] if stored else 0

    def write(
        self, rows: bytes, positions: tuple[int, ...], plan: str, joined: JoinedStates | None
    ) -> None:
        """Write outputs to disk, then a checkpoint that covers them; see `Checkpoint` for the arguments.

        Raises:
            EngineError: the write failed; earlier checkpoints and outputs are intact.
        """
        with self._io_errors("written to"):
            self.append(rows)
            os.fdatasync(self._outputs.fileno())
            checkpoint = Checkpoint(
                number=self._number,
                positions=positions,
                rows=self._rows,
                rows_crc=self._crc,
                plan=plan,
                joined=joined,
            )
            path = self.path / f"{_PREFIX}{self._number:08d}"
            _write_atomically(path, encode(checkpoint, self._identity))
            self._number += 1
            self._checkpoint_paths.append(path)
            while len(self._checkpoint_paths) > CHECKPOINT_COUNT:
                self._checkpoint_paths.pop(0).unlink(missing_ok=True)

    def append(self, rows: bytes) -> None:
        """Write outputs that the next checkpoint will make durable.

        Raises:
            EngineError: the write failed; earlier checkpoints and outputs are intact.
        """
        with self._io_errors("written to"):
            _write_all(self._outputs, rows)
        self._rows += len(rows) // self._row_bytes
        self._crc = zlib.crc32(rows, self._crc)

    def rows(self) -> bytes:
        """Return the bytes of all outputs; they are durable up to the last checkpoint."""
        with self._io_errors("read"):
            return self._outputs_path.read_bytes()[: self._rows * self._row_bytes]

    def close(self) -> None:
        """Release the lock."""
        self._files.close()

    def _checkpoints(self) -> Iterator[tuple[int, Path]]:
        """Yield number and path of each file that is named as a checkpoint."""
        for path in self.path.iterdir():
            if match := _NAME.fullmatch(path.name):
                yield int(match[1]), path

    def _check_outputs(self, checkpoint: Checkpoint) -> None:
        """Raise RefusedError if the outputs changed after the checkpoint."""
        left, crc = checkpoint.rows * self._row_bytes, 0
        path = self._outputs_path
        if not path.exists():
            raise RefusedError(f"{path.name} is missing")
        with path.open("rb") as file:
            while left > 0:
                piece = file.read(min(left, _READ_BYTES))
                if not piece:
                    raise RefusedError(f"{path.name} lacks the last {left} bytes of its outputs")
                left -= len(piece)
                crc = zlib.crc32(piece, crc)
        if crc != checkpoint.rows_crc:
            raise RefusedError(f"{path.name} changed after the checkpoint: its checksum is wrong")

    @contextmanager
    def _io_errors(self, action: str) -> Iterator[None]:
        """Turn an OSError into an EngineError that names the folder and the action."""
        try:
            yield
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            text = (
                f"checkpoint folder {self.path} cannot be {action}: {error.strerror}{where}; free "
            )
            text += "space, fix its permissions or use another folder, and run again: all outputs "
            raise EngineError(text + "until the last checkpoint are safe") from error


def _write_atomically(path: Path, data: bytes) -> None:
    """Write a file that is complete or missing after a crash."""
    unfinished = path.with_name(_UNFINISHED + path.name)
    with unfinished.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    _sync_folder(path.parent)


def _write_all(file: io.FileIO, data: bytes) -> None:
    left = memoryview(data)
    while len(left) > 0:
        left = left[file.write(left) :]  # A full disk takes only a part.


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        text = f"checkpoint folder {path}: another process runs in it; wait for it to end, or "
        raise EngineError(text + "use another folder") from error


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
