"""Decodes files to UTF-8 in blocks of complete lines. A byte-order mark may name another encoding."""

import codecs
from collections.abc import Iterator
from itertools import chain
from typing import Protocol

from streamlab.workloads.datasets.errors import DatasetError

BLOCK_BYTES = 8 << 20
"""Size of the blocks to read."""

_PIECE_BYTES = 1 << 20
"""Size of one read call. Damage may also lose up to this many bytes before the damaged place."""

LONGEST_LINE_BYTES = 16 << 20
"""Limit of lines and CSV records, so that memory does not depend on the file."""

NO_UTF8 = ", so this is not UTF-8 text; if it is UTF-16 without its mark, convert it to UTF-8"

_UTF8_MARK = b"\xef\xbb\xbf"
_OTHER_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


class Bytes(Protocol):
    """A source of bytes, such as an open file."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`; empty at the end."""


def text_blocks(file: Bytes, place: str, *, continues: bool = False) -> Iterator[bytes]:
    r"""Yield a text as UTF-8 in blocks of complete lines, each line terminated by `\n`.

    A byte-order mark determines the encoding and is removed. If most line ends of the first block are single carriage
    returns, these and `\r\n` become `\n`. Otherwise carriage returns stay. A line longer than `LONGEST_LINE_BYTES` may
    be truncated to this length. With `continues` the file is a later split of a UTF-8 text with line feeds.

    Raises:
        DatasetError: the file is UTF-16 without a mark, or ends within a character.
    """
    pending, skipping, final_return = b"", False, b""
    has_return_ends = False if continues else None
    for text in _raw_blocks(file) if continues else _decode(file, place):
        if has_return_ends is None:
            has_return_ends = _has_return_ends(text)
        if has_return_ends:
            text, final_return = _unify_ends(final_return + text)
        if skipping:
            end = text.find(b"\n")
            text, skipping = (b"", True) if end < 0 else (text[end:], False)
        text = pending + text
        lines_end = text.rfind(b"\n") + 1
        if lines_end:
            yield text[:lines_end]
        pending = text[lines_end:]
        if len(pending) > LONGEST_LINE_BYTES:
            pending, skipping = pending[:LONGEST_LINE_BYTES], True
    if pending or final_return:
        yield pending + b"\n"


def _decode(file: Bytes, place: str) -> Iterator[bytes]:
    """Yield the content of a file as UTF-8, without its mark."""
    blocks = _raw_blocks(file)
    head = next(blocks, b"")
    encoding = next((name for mark, name in _OTHER_MARKS if head.startswith(mark)), None)
    if encoding is None:
        if b"\0" in head[:2]:
            raise DatasetError(f"{place}: line 1 holds a byte 0{NO_UTF8}")
        yield head.removeprefix(_UTF8_MARK)
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    try:
        for block in chain([head], blocks):
            yield decoder.decode(block).encode("utf-8", "surrogatepass")
        yield decoder.decode(b"", True).encode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"{place} is not {encoding.upper()}, which its first bytes name ({error.reason})"
        ) from error


def _raw_blocks(file: Bytes) -> Iterator[bytes]:
    """Yield the bytes of a file; if it is damaged, yield the bytes before the damage and then raise."""
    longest_mark = max(len(mark) for mark, _ in _OTHER_MARKS)
    pieces: list[bytes] = []
    broken: Exception | None = None
    try:
        while piece := file.read(min(_PIECE_BYTES, BLOCK_BYTES)):
            pieces.append(piece)
            if sum(map(len, pieces)) >= max(BLOCK_BYTES, longest_mark):
                yield b"".join(pieces)
                pieces = []
    except Exception as error:
        broken = error
    if pieces:
        yield b"".join(pieces)
    if broken is not None:
        raise broken


def may_be_cut(head: bytes) -> bool:
    """Return whether a text can be split at line feeds: its first block `head` is UTF-8 with line feeds."""
    has_mark = head.startswith(tuple(mark for mark, _ in _OTHER_MARKS))
    return not has_mark and not _has_return_ends(head)


def _has_return_ends(text: bytes) -> bool:
    """Return whether most line ends are single carriage returns."""
    lone_returns = text.count(b"\r") - text.count(b"\r\n")
    return lone_returns > text.count(b"\n")


def _unify_ends(text: bytes) -> tuple[bytes, bytes]:
    """Return a text with all line ends as LF, and separately its final CR, which an LF in the next block may follow."""
    final_return = b"\r" if text.endswith(b"\r") else b""
    text = text[: len(text) - len(final_return)]
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), final_return
