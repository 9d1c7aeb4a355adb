r"""Encodes and decodes checkpoint files.

    bytes 0..7    magic, b"LABCKPT\n"
    bytes 8..11   version of the format, uint32; all integers are little-endian
    bytes 12..15  CRC-32 of the rest of the file, uint32
    bytes 16..19  length of the header, uint32
    header        JSON: the fields of `Identity` and `Checkpoint`, without states
    states        states of the trees' roots by key, then of groups of keys in the header's order

A file is valid if its checksum and length are right, and program and input are those of the run.
"""

import json
import struct
import zlib
from dataclasses import asdict, dataclass, field

MAGIC = b"LABCKPT\n"
VERSION = 1
_PREFIX = struct.Struct("<8sIII")
_PLAIN = ("number", "rows", "rows_crc", "ended", "plan")
"""Fields of a checkpoint that its header stores as they are."""


class RefusedError(Exception):
    """A checkpoint is unusable; the message says why.

    Attributes:
        foreign: whether the file is intact, but of another run or format version.
    """

    def __init__(self, why: str, *, foreign: bool = False) -> None:
        super().__init__(why)
        self.foreign = foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Identifies the program and the input of a checkpoint.

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
        positions: position of the first event after the cut, by stream.
        events: number of events before the cut, in all streams.
        rows: number of output records of these events, all in the file of outputs.
        rows_crc: CRC-32 of these records.
        ended: whether the run is complete; then there are no states.
        plan: text of the plan under which the checkpoint was written.
        states: states of the trees' roots, by key.
        groups: states of groups of keys, by name of their `across` and group number.
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
    """Return the bytes of a checkpoint's file."""
    header = json.dumps(
        {
            **asdict(identity),
            **{name: getattr(checkpoint, name) for name in _PLAIN},
            "positions": checkpoint.positions,
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
        RefusedError: the file is damaged, or of another format version, program or input.
    """
    if len(data) < _PREFIX.size:
        raise RefusedError(
            f"it is truncated: {len(data)} bytes, fewer than its head of {_PREFIX.size}"
        )
    magic, version, checksum, length = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise RefusedError(f"it is no checkpoint: it begins with {magic!r}, not {MAGIC!r}")
    if version != VERSION:
        text = f"it has version {version} of the format, this lab reads version {VERSION}"
        raise RefusedError(text, foreign=True)
    if zlib.crc32(data[_PREFIX.size - 4 :]) != checksum:
        raise RefusedError(
            "its checksum is wrong: it was truncated or changed after it was written"
        )
    body = data[_PREFIX.size :]
    header = json.loads(body[:length])
    for field_name, expected in (("program", identity.program), ("data", identity.data)):
        if header[field_name] != expected:
            noun = {"program": "program", "data": "input"}[field_name]
            text = f"it is of another {noun} ({header['name']}, {noun} {header[field_name][:12]}); "
            text += f"this run is {identity.name}, {noun} {expected[:12]}"
            raise RefusedError(text, foreign=True)
    at = length + header["states"]
    groups = {}
    for name, number, size in header["groups"]:
        groups[name, number] = body[at : at + size]
        at += size
    return Checkpoint(
        **{name: header[name] for name in _PLAIN},
        positions=tuple(header["positions"]),
        states=body[length : length + header["states"]],
        groups=groups,
    )
