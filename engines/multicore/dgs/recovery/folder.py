"""The folder of a run that can be restarted: its last checkpoints and all outputs until them.

    lock                  held by the process that runs
    checkpoint-00000012   the last two, see format.py
    unfinished-...        one that was being written
    outputs.rows          records of the program's output, one after the other

What survives a crash, wherever it comes: the newest checkpoint whose rename has reached the disk,
and the outputs until it, since these are made durable before it. What is behind them in the file of
outputs was written for a checkpoint that was never completed; a restart cuts it off.
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

KEPT = 2
"""Checkpoints that are kept: the newest, and the one before for when it cannot be read."""
_PREFIX = "checkpoint-"
_NAME = re.compile(_PREFIX + r"([0-9]{8,})", re.ASCII)
_UNFINISHED = "unfinished-"
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a restart finds.

    Attributes:
        checkpoint: from which it goes on; None: from the beginning.
        refused: why newer ones are not, in words.
    """

    checkpoint: Checkpoint | None
    refused: tuple[str, ...]


class CheckpointFolder:
    """A folder, locked while this object is open.

    Args:
        path: made where it is missing.
        identity: what runs in it.
        row_bytes: of an output record.

    Raises:
        EngineError: it cannot be used, or another process runs in it.
    """

    def __init__(self, path: Path, identity: Identity, row_bytes: int) -> None:
        self.path = path
        self._identity = identity
        self._row_bytes = row_bytes
        self._kept: list[Path] = []
        self._rows = 0
        self._crc = 0
        self._number = 0
        with self._named("opened"):
            path.mkdir(parents=True, exist_ok=True)
            self._lock = (path / "lock").open("ab")
        try:
            with self._named("locked"):
                _lock(self._lock, path)
        except BaseException:
            self._lock.close()
            raise
        self._outputs: io.FileIO | None = None

    def recover(self) -> Found:
        """Find where to go on, and cut the outputs to there.

        Raises:
            EngineError: what is there is all of another run; or it cannot be read.
        """
        refused: list[str] = []
        foreign = False
        chosen: Checkpoint | None = None
        with self._named("read"):
            there = sorted(self._checkpoints(), reverse=True)
            for _, path in there:
                try:
                    checkpoint = decode(path.read_bytes(), self._identity)
                    self._check_outputs(checkpoint)
                except RefusedError as error:
                    if chosen is not None:
                        continue  # nobody would have gone on from it
                    refused.append(f"{path} is refused: {error}")
                    foreign |= error.foreign
                    continue
                chosen = chosen or checkpoint
                self._kept.insert(0, path)
        if chosen is None and foreign:
            text = "; ".join(refused)
            raise EngineError(f"{text}; give another checkpoint folder, or empty this one")
        if there:
            self._number = 1 + there[0][0]
        with self._named("written to"):
            for path in self.path.glob(f"{_UNFINISHED}*"):
                path.unlink()
            self._cut_outputs(chosen)
        return Found(checkpoint=chosen, refused=tuple(refused))

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
        """Make outputs durable, then a checkpoint behind them.

        Raises:
            EngineError: that failed; what was durable before still is.
        """
        with self._named("written to"):
            outputs = self._opened_outputs()
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
            _write_whole(path, encode(checkpoint, self._identity))
            self._number += 1
            self._kept.append(path)
            while len(self._kept) > KEPT:
                self._kept.pop(0).unlink(missing_ok=True)

    def rows(self) -> bytes:
        """Return all outputs that are durable."""
        with self._named("read"):
            return self._outputs_path().read_bytes()[: self._rows * self._row_bytes]

    def close(self) -> None:
        """Let others run in it."""
        if self._outputs is not None:
            self._outputs.close()
            self._outputs = None
        self._lock.close()

    def _checkpoints(self) -> Iterator[tuple[int, Path]]:
        """Yield what has the name of a checkpoint, with its number; a user's copy has another."""
        for path in self.path.iterdir():
            if named := _NAME.fullmatch(path.name):
                yield int(named[1]), path

    def _outputs_path(self) -> Path:
        return self.path / "outputs.rows"

    def _opened_outputs(self) -> io.FileIO:
        if self._outputs is None:
            raise EngineError(f"checkpoint folder {self.path} was not recovered, or is closed")
        return self._outputs

    def _check_outputs(self, checkpoint: Checkpoint) -> None:
        """Refuse a checkpoint whose outputs are not those that were written with it."""
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
        # Without a buffer: what a full disk did not take would be written by `close`.
        self._outputs = self._outputs_path().open("ab", buffering=0)
        self._outputs.truncate(self._rows * self._row_bytes)
        os.fsync(self._outputs.fileno())
        _sync_folder(self.path)

    @contextmanager
    def _named(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            text = f"checkpoint folder {self.path} cannot be {what}: {error.strerror}{where}; make "
            text += "room or set its rights, or give another folder, and run again: what was "
            raise EngineError(text + "written until the last checkpoint is kept") from error


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all, whenever the machine stops."""
    beside = path.with_name(_UNFINISHED + path.name)
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    _sync_folder(path.parent)


def _write_all(file: io.FileIO, data: bytes) -> None:
    left = memoryview(data)
    while len(left) > 0:
        left = left[file.write(left) :]  # a disk that fills up takes a part


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
