r"""A checkpoint as a file.

    bytes 0..7    magic, b"LABCKPT\n"
    bytes 8..11   version of the format, uint32, little-endian as all
    bytes 12..15  CRC-32 of all that follows, uint32
    bytes 16..19  length of the header, uint32
    header        JSON: what is below, but states
    states        of the trees' roots by key, then of groups of keys in the header's order

A file is valid if its checksum and its length are right, and it is of this program and this input.
It is written beside its place, made durable, and renamed, so that a crash leaves a whole file or
none under its name; the checksum finds what disks and copies do to it later.
"""

import json
import struct
import zlib
from dataclasses import dataclass, field

MAGIC = b"LABCKPT\n"
VERSION = 1
_PREFIX = struct.Struct("<8sIII")


class RefusedError(Exception):
    """A file cannot be gone on from; the message says why.

    Attributes:
        foreign: it is whole, and somebody else's.
    """

    def __init__(self, why: str, *, foreign: bool = False) -> None:
        super().__init__(why)
        self.foreign = foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a checkpoint is of.

    Attributes:
        name: of the program.
        program: the fingerprint of its code.
        data: a digest of its input.
    """

    name: str
    program: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A consistent cut of a run.

    Attributes:
        number: ascending within a folder.
        positions: by stream, the first event that is not in it.
        events: in all streams, before the cut.
        rows: outputs that these events made, all of them in the file of outputs.
        rows_crc: CRC-32 of these.
        ended: the run is at its end; there are no states.
        plan: of the run that wrote it, in words.
        states: of the trees' roots, one after the other, by key.
        groups: of events across keys, by name and number of the group.
    """

    number: int
    positions: tuple[int, ...]
    rows: int
    rows_crc: int
    ended: bool = False
    plan: str = ""
    states: bytes = b""
    groups: dict[tuple[str, int], bytes] = field(default_factory=dict)

    @property
    def events(self) -> int:
        """Number of events before the cut."""
        return sum(self.positions)


def encode(checkpoint: Checkpoint, identity: Identity) -> bytes:
    """Return a checkpoint as the bytes of its file."""
    header = json.dumps(
        {
            "name": identity.name,
            "program": identity.program,
            "data": identity.data,
            "number": checkpoint.number,
            "positions": checkpoint.positions,
            "rows": checkpoint.rows,
            "rows_crc": checkpoint.rows_crc,
            "ended": checkpoint.ended,
            "plan": checkpoint.plan,
            "states": len(checkpoint.states),
            "groups": [[*group, len(state)] for group, state in checkpoint.groups.items()],
        }
    ).encode()
    body = b"".join([header, checkpoint.states, *checkpoint.groups.values()])
    length = struct.pack("<I", len(header))
    checksum = zlib.crc32(body, zlib.crc32(length))
    return _PREFIX.pack(MAGIC, VERSION, checksum, len(header)) + body


def decode(data: bytes, identity: Identity) -> Checkpoint:
    """Return the checkpoint in the bytes of a file.

    Raises:
        RefusedError: it is damaged, or of another version, program or input.
    """
    if len(data) < _PREFIX.size:
        raise RefusedError(
            f"it is cut off: {len(data)} bytes, fewer than its head of {_PREFIX.size}"
        )
    magic, version, checksum, length = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise RefusedError(f"it is no checkpoint: it begins with {magic!r}, not {MAGIC!r}")
    if version != VERSION:
        text = f"it has version {version} of the format, this lab reads version {VERSION}"
        raise RefusedError(text, foreign=True)
    if zlib.crc32(data[_PREFIX.size - 4 :]) != checksum:
        raise RefusedError("its checksum is wrong: it was cut off or changed after it was written")
    body = data[_PREFIX.size :]
    header = json.loads(body[:length])
    for what, ours in (("program", identity.program), ("data", identity.data)):
        if header[what] != ours:
            noun = {"program": "program", "data": "input"}[what]
            text = f"it is of another {noun} ({header['name']}, {noun} {header[what][:12]}); "
            text += f"this one is {identity.name}, {noun} {ours[:12]}"
            raise RefusedError(text, foreign=True)
    at = length + header["states"]
    groups = {}
    for name, number, size in header["groups"]:
        groups[name, number] = body[at : at + size]
        at += size
    return Checkpoint(
        number=header["number"],
        positions=tuple(header["positions"]),
        rows=header["rows"],
        rows_crc=header["rows_crc"],
        ended=header["ended"],
        plan=header["plan"],
        states=body[length : length + header["states"]],
        groups=groups,
    )
