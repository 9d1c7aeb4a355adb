r"""Encodes and decodes checkpoint files.

    bytes 0..7    magic, b"LABCKPT\n"
    bytes 8..11   version of the format, uint32, little-endian
    bytes 12..15  CRC-32 of the rest of the file, uint32, little-endian
    the rest      `Identity` and `Checkpoint` in MessagePack

A file is valid if its checksum is right, and its program and input equal those of the run.
"""

import struct
import zlib
from dataclasses import dataclass

import msgspec

from streamlab.engines.multicore.dgs.snapshots import JoinedStates

MAGIC = b"LABCKPT\n"
VERSION = 2
_PREFIX = struct.Struct("<8sII")


class RefusedError(Exception):
    """A checkpoint is unusable; the message says why.

    Attributes:
        foreign: whether the file is intact, but belongs to another run or has another format version.
    """

    def __init__(self, why: str, *, foreign: bool = False) -> None:
        super().__init__(why)
        self.foreign = foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The program and the input of a checkpoint.

    Attributes:
        name: name of the program.
        program: fingerprint of the program's code.
        data: digest of the input.
    """

    name: str
    program: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A consistent cut of a run.

    Attributes:
        number: number of the checkpoint, ascending within a folder.
        positions: for each stream, the position of the first event after the cut.
        rows: number of output records of the events before the cut, all in the file of outputs.
        rows_crc: CRC-32 of these records.
        plan: text of the plan under which the checkpoint was written.
        joined: states at the cut; None if the run is complete.
    """

    number: int
    positions: tuple[int, ...]
    rows: int
    rows_crc: int
    plan: str
    joined: JoinedStates | None

    @property
    def events(self) -> int:
        """Number of events before the cut."""
        return sum(self.positions)


def encode(checkpoint: Checkpoint, identity: Identity) -> bytes:
    """Return the bytes of a checkpoint's file."""
    body = msgspec.msgpack.encode((identity, checkpoint))
    return _PREFIX.pack(MAGIC, VERSION, zlib.crc32(body)) + body


def decode(data: bytes, identity: Identity) -> Checkpoint:
    """Return the checkpoint in the bytes of a file.

    Raises:
        RefusedError: the file is damaged, or has another format version, program or input.
    """
    if len(data) < _PREFIX.size:
        raise RefusedError(
            f"it is truncated: {len(data)} bytes, fewer than its head of {_PREFIX.size}"
        )
    magic, version, checksum = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise RefusedError(f"it is not a checkpoint: it begins with {magic!r}, not {MAGIC!r}")
    if version != VERSION:
        text = f"it has format version {version}, and this lab reads version {VERSION}"
        raise RefusedError(text, foreign=True)
    body = data[_PREFIX.size :]
    if zlib.crc32(body) != checksum:
        raise RefusedError(
            "its checksum is wrong: it was truncated or changed after it was written"
        )
    stored, checkpoint = msgspec.msgpack.decode(body, type=tuple[Identity, Checkpoint])
    for noun, other, expected in (
        ("program", stored.program, identity.program),
        ("input", stored.data, identity.data),
    ):
        if other != expected:
            text = f"it is of another {noun} ({stored.name}, {noun} {other[:12]}); "
            text += f"this run is {identity.name}, {noun} {expected[:12]}"
            raise RefusedError(text, foreign=True)
    return checkpoint
