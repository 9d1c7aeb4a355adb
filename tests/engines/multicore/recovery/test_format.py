"""A checkpoint that was changed, or belongs to another run, is refused with the reason."""

import struct
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.engines.multicore.dgs.recovery.format import (
    VERSION,
    Checkpoint,
    RefusedError,
    decode,
    encode,
)
from streamlab.engines.multicore.dgs.snapshots import JoinedStates
from tests.engines.multicore.recovery.checkpoint_folders import IDENTITY

CHECKPOINT = Checkpoint(
    number=7,
    positions=(3, 0, 12),
    rows=5,
    rows_crc=zlib.crc32(b"rows"),
    plan="a plan",
    joined=JoinedStates(
        states=bytes(range(48)),
        groups={("house", 0): b"12345678", ("house", 3): b"87654321", ("slice", 0): b""},
    ),
)
DATA = encode(CHECKPOINT, IDENTITY)


def test_a_written_checkpoint_can_be_read():
    assert decode(DATA, IDENTITY) == CHECKPOINT
    assert CHECKPOINT.events == 15


@given(st.integers(0, len(DATA) - 1))
def test_a_truncated_one_is_refused(length):
    with pytest.raises(RefusedError, match="truncated") as refused:
        decode(DATA[:length], IDENTITY)
    assert not refused.value.foreign


@given(st.integers(0, 8 * len(DATA) - 1))
def test_one_with_a_flipped_bit_is_refused(bit):
    flipped = bytearray(DATA)
    flipped[bit // 8] ^= 1 << bit % 8
    with pytest.raises(RefusedError, match=r"not a checkpoint|version|checksum"):
        decode(bytes(flipped), IDENTITY)


def test_one_of_the_future_is_refused():
    later = DATA[:8] + struct.pack("<I", VERSION + 1) + DATA[12:]
    with pytest.raises(
        RefusedError, match=r"has format version 3, and .* reads version 2"
    ) as refused:
        decode(later, IDENTITY)
    assert refused.value.foreign


@pytest.mark.parametrize("field, noun", [("program", "program"), ("data", "input")])
def test_one_of_another_run_is_refused(field, noun):
    theirs = replace(IDENTITY, **{field: "x" * 32})
    with pytest.raises(
        RefusedError, match=f"of another {noun} .*xxxx.* this run is event_window"
    ) as refused:
        decode(encode(CHECKPOINT, theirs), IDENTITY)
    assert refused.value.foreign
