"""Every line of a raw file is in the report, whatever quotes and line ends the file has."""

import io
import random
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.kind import NamedColumns
from streamlab.workloads.datasets.imports.registry import import_kind
from streamlab.workloads.datasets.text import decoding
from streamlab.workloads.datasets.text.decoding import text_blocks
from tests.workloads.datasets.files import rows_of
from tests.workloads.datasets.raw_files import RAW, options_of, raw_file

LINES = 9
ODD = st.sampled_from(
    [b'"', b'""', b"\n", b"\n\n", b"\r\n", b"\r", b'"\n', b'\n"x\n', b",", b"\xff", b"\t"]
)
REFUSED = ("is never closed", ": no column ", "is not CSV", "no row is CSV")
"""Errors about the first row, or about all rows, of a file with quotes."""
INSERTED = st.lists(st.tuples(ODD, st.floats(0, 1, exclude_max=True)), max_size=6)


def raw_lines(kind: str) -> list[bytes]:
    draw = random.Random(1)
    make, _ = RAW[kind]
    return [line.encode() for line in make(list(range(LINES)), draw.randrange)]


def inserted(content: bytes, odd: list[tuple[bytes, float]]) -> bytes:
    for piece, place in odd:
        at = int(place * len(content))
        content = content[:at] + piece + content[at:]
    return content


@pytest.mark.parametrize("kind", RAW)
@settings(deadline=None, max_examples=5)
@example(odd=[(b"\n\n", 0.0), (b"\n", 0.5)], block_bytes=1 << 20)
@example(odd=[(b",", 0.0), (b"\xff", 0.5)], block_bytes=1 << 20)
@given(odd=INSERTED, block_bytes=st.sampled_from([30, 1 << 20]))
def test_every_line_is_an_event_in_a_bad_row_or_counted(
    kind: str, odd: list[tuple[bytes, float]], block_bytes: int
):
    with (
        patch.object(decoding, "BLOCK_BYTES", block_bytes),
        tempfile.TemporaryDirectory() as folder,
    ):
        _check_account(kind, odd, Path(folder))


def _check_account(kind: str, odd: list[tuple[bytes, float]], folder: Path) -> None:
    lines = raw_lines(kind)
    content = inserted(b"".join(line + b"\n" for line in lines), odd)
    blocks = b"".join(text_blocks(io.BytesIO(content), "text"))
    quoted = isinstance(import_kind(kind).file_format, NamedColumns)
    file = raw_file(kind, folder)
    file.write_bytes(content)
    try:
        found, rows = rows_of(kind, file, max_bad=1000, **options_of(kind, folder))
    except DatasetError as error:
        assert quoted
        assert any(words in str(error) for words in REFUSED)
        return
    assert found.lines == blocks.count(b"\n")
    assert len(rows) == found.rows
    if not quoted:
        assert found.lines_in_bad == found.lines_in_rows == 0
        whole = blocks.split(b"\n")
        assert found.rows + found.skipped_lines >= sum(line in whole for line in lines)
