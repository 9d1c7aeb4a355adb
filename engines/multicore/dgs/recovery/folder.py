"""Manages the folder of a restartable run: its last checkpoints and all outputs before them.

    lock                  held by the running process
    checkpoint-00000012   the last two checkpoints, see format.py
    unfinished-...        a checkpoint during its writing
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
from contextlib import contextmanager
from dataclasses import dataclass
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

CHECKPOINT_COUNT = 2
"""Number of checkpoints to keep: the newest, and the previous one in case the newest is unreadable."""
_PREFIX = "checkpoint-"
_NAME = re.compile(_PREFIX + r"([0-9]{8,})", re.ASCII)
_UNFINISHED = "unfinished-"
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryPoint:
    """The point from which a restart resumes.

    Attributes:
        checkpoint: checkpoint to resume from; None means the beginning.
        refused: reasons why newer checkpoints are unusable, as text.
    """

    checkpoint: Checkpoint | None
    refused: tuple[str, ...]


class CheckpointFolder:
    """A checkpoint folder, locked while this object is open; created if it is missing.

    `row_bytes` is the size of an output record.

    Raises:
        EngineError: the folder is not accessible, or another process uses it.
    """

    def __init__(self, path: Path, identity: Identity, row_bytes: int) -> None:
        self.path = path
        self._identity = identity
        self._row_bytes = row_bytes
        self._checkpoint_paths: list[Path] = []
        self._rows = 0
        self._crc = 0
        self._number = 0
        with self._io_errors("opened"):
            path.mkdir(parents=True, exist_ok=True)
            self._lock = (path / "lock").open("ab")
        try:
            with self._io_errors("locked"):
                _lock(self._lock, path)
        except BaseException:
            self._lock.close()
            raise
        self._outputs: io.FileIO | None = None

    def recover(self) -> RecoveryPoint:
        """Find the newest usable checkpoint, and truncate the outputs to it.

        Raises:
            EngineError: all checkpoints belong to another run, or the folder is unreadable.
        """
        refused: list[str] = []
        foreign = False
        chosen: Checkpoint | None = None
        with self._io_errors("read"):
            stored = sorted(self._checkpoints(), reverse=True)
            for _, path in stored:
                try:
                    checkpoint = decode(path.read_bytes(), self._identity)
                    self._check_outputs(checkpoint)
                except RefusedError as error:
                    if chosen is not None:
                        continue  # A newer one is usable.
                    refused.append(f"{path} is refused: {error}")
                    foreign |= error.foreign
                    continue
                chosen = chosen or checkpoint
                self._checkpoint_paths.insert(0, path)
        if chosen is None and foreign:
            text = "; ".join(refused)
            raise EngineError(f"{text}; give another checkpoint folder, or empty this one")
        if stored:
            self._number = 1 + stored[0][0]
        with self._io_errors("written to"):
            for path in self.path.glob(f"{_UNFINISHED}*"):
                path.unlink()
            self._cut_outputs(chosen)
        return RecoveryPoint(checkpoint=chosen, refused=tuple(refused))

    def write(
        self,
        rows: bytes,
        positions: tuple[int, ...],
        *,
        states: bytes = b"",
        groups: dict[tuple[str, int], bytes] | None = None,
        plan: str = "",
        ended: bool = False,
    ) -> None:
        """Make outputs durable, and then a checkpoint after them; see `Checkpoint` for the arguments.

        Raises:
            EngineError: the write failed; earlier checkpoints and outputs are intact.
        """
        with self._io_errors("written to"):
            outputs = self._open_outputs()
            _write_all(outputs, rows)
            os.fdatasync(outputs.fileno())
            self._rows += len(rows) // self._row_bytes
            self._crc = zlib.crc32(rows, self._crc)
            checkpoint = Checkpoint(
                number=self._number,
                positions=positions,
                rows=self._rows,
                rows_crc=self._crc,
                ended=ended,
                plan=plan,
                states=states,
                groups=groups or {},
            )
            path = self.path / f"{_PREFIX}{self._number:08d}"
            _write_atomically(path, encode(checkpoint, self._identity))
            self._number += 1
            self._checkpoint_paths.append(path)
            while len(self._checkpoint_paths) > CHECKPOINT_COUNT:
                self._checkpoint_paths.pop(0).unlink(missing_ok=True)

    def rows(self) -> bytes:
        """Return the bytes of all durable outputs."""
        with self._io_errors("read"):
            return self._outputs_path().read_bytes()[: self._rows * self._row_bytes]

    def close(self) -> None:
        """Release the lock."""
        if self._outputs is not None:
            self._outputs.close()
            self._outputs = None
        self._lock.close()

    def _checkpoints(self) -> Iterator[tuple[int, Path]]:
        """Yield number and path of each file that is named as a checkpoint."""
        for path in self.path.iterdir():
            if match := _NAME.fullmatch(path.name):
                yield int(match[1]), path

    def _outputs_path(self) -> Path:
        return self.path / "outputs.rows"

    def _open_outputs(self) -> io.FileIO:
        if self._outputs is None:
            raise EngineError(
                f"checkpoint folder {self.path} is closed, or `recover` was not called"
            )
        return self._outputs

    def _check_outputs(self, checkpoint: Checkpoint) -> None:
        """Raise RefusedError if the outputs are not those that were written with the checkpoint."""
        left, crc = checkpoint.rows * self._row_bytes, 0
        path = self._outputs_path()
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
            raise RefusedError(f"{path.name} has another checksum than its outputs had")

    def _cut_outputs(self, checkpoint: Checkpoint | None) -> None:
        self._rows = checkpoint.rows if checkpoint else 0
        self._crc = checkpoint.rows_crc if checkpoint else 0
        # No buffer: after a write to a full disk failed, `close` would write the buffer again.
        self._outputs = self._outputs_path().open("ab", buffering=0)
        self._outputs.truncate(self._rows * self._row_bytes)
        os.fsync(self._outputs.fileno())
        _sync_folder(self.path)

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
            text += "space, fix its permissions or give another folder, and run again: all outputs "
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
        left = left[file.write(left) :]  # A disk that fills up takes only a part.


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        text = f"checkpoint folder {path}: another process runs in it; wait for it to end, or "
        raise EngineError(text + "give another folder") from error


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
