"""Every line of a CSV text is a record, part of one, part of a bad one, or empty."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.raw_files import RawText
from streamlab.workloads.datasets.text import decoding
from streamlab.workloads.datasets.text.csv_text import CsvText
from streamlab.workloads.datasets.text.decoding import text_blocks

Good = tuple[int, int, list[str]]
"""First line, last line, cells."""


@dataclass
class Account:
    """What the lines of a text are, and the line of a quote that is never closed."""

    good: list[Good] = field(default_factory=list)
    bad: list[tuple[int, int]] = field(default_factory=list)
    empty: int = 0
    open: int | None = None


def plain_account(text: str, delimiter: str, *, quoted: bool) -> Account:
    """Read a text character by character, by the rule in words."""
    account = Account()
    at, line = 0, 1
    text += "" if text.endswith("\n") or not text else "\n"
    while at < len(text):
        end = text.index("\n", at)
        if text[at:end] in ("", "\r"):
            account.empty, at, line = account.empty + 1, end + 1, line + 1
            continue
        first, cells, wrong = line, [], False
        while True:
            cell, in_quotes = "", quoted and text[at] == '"'
            if in_quotes:
                opened, at = line, at + 1
                while at < len(text) and not (text[at] == '"' and text[at + 1] != '"'):
                    step = 2 if text[at] == '"' else 1
                    cell, line = cell + text[at], line + (text[at] == "\n")
                    at += step
                if at >= len(text):
                    account.open = opened
                    return account
                at += 1
            rest = at
            while text[at] not in ("\n", delimiter):
                at += 1
            after = text[rest:at]
            if text[at] == "\n":
                after = after.removesuffix("\r")
            wrong |= in_quotes and after != ""
            cells.append(cell + after)
            at += 1
            if text[at - 1] == "\n":
                break
        if wrong:
            account.bad.append((first, line))
        else:
            account.good.append((first, line, cells))
        line += 1
    return account


def read_account(
    content: bytes, delimiter: str, *, quoted: bool, block: int, columns: int | None = None
) -> Account:
    """Read a text without a header with the reader of all imports."""
    account = Account()
    part = RawText(place="a.csv", name="a.csv", file=io.BytesIO(content), bytes_read=lambda: 0)
    with patch.object(decoding, "BLOCK_BYTES", block):
        try:
            text = CsvText(part, delimiter, quoted=quoted, header=False)
            count = columns or len(text.names())
            for rows in text.rows([""] * count, range(count)):
                cells = zip(*(column.to_pylist() for column in rows.batch.columns), strict=True)
                lines = zip(rows.line.tolist(), rows.further.tolist(), cells, strict=True)
                account.good += [(line, line + further, list(row)) for line, further, row in lines]
                account.bad += [(bad.line, bad.line + bad.further) for bad in rows.bad]
                account.empty += rows.empty_lines
        except DatasetError as error:
            _, mark, rest = str(error).partition("the quote opened in line ")
            if "never closed" in rest and mark:
                account.open = int(rest.split()[0])
            elif "no row is CSV" not in str(error) and "is empty" not in str(error):
                raise
    return account


def with_columns(account: Account) -> Account:
    """Take records for bad that have another number of cells than the first good one."""
    if not account.good:
        return account
    count = len(account.good[0][2])
    ragged = [(first, last) for first, last, cells in account.good if len(cells) != count]
    good = [each for each in account.good if len(each[2]) == count]
    return Account(good, sorted([*account.bad, *ragged]), account.empty, account.open)


TEXTS = st.lists(
    st.sampled_from(['"', '""', ",", "\n", "\r\n", "\r", "a", "é", '"\n', ',"', '",', "\n1,2\n"]),
    max_size=40,
).map("".join)


@settings(deadline=None, max_examples=200)
@given(text=TEXTS, quoted=st.booleans(), block=st.sampled_from([1, 5, 1 << 20]))
@example('1,"5 in,10\n2,6,20\n3,7 in",30\n4,x,40', True, 1 << 20)
@example('1,"b" c\n"x\ny"z,2\n3,"\r\n",\r', True, 5)
@example('a,""\n"""",b\n"\n""\n",c\n', True, 1)
def test_every_line_is_accounted_for(text: str, quoted: bool, block: int):
    single = text.count("\r") - text.count("\r\n")
    text = "a,b\n" + text + "\n" * single  # single returns are not the line ends
    expected = with_columns(plain_account(text, ",", quoted=quoted))
    found = read_account(text.encode(), ",", quoted=quoted, block=block)
    if expected.open is not None:  # nothing of such a text is imported
        assert found.open == expected.open
        return
    if not expected.good:
        return
    assert found == expected
    lines = sum(last - first + 1 for first, last, *_ in (*found.good, *found.bad))
    assert lines + found.empty == text.count("\n") + (not text.endswith("\n"))


@pytest.mark.parametrize("delimiter", ["\t", ";", "|", ".", "^", "\\"])
def test_any_character_may_part_cells(delimiter: str):
    text = '1D"a D\n b"D3\nx"yDD""\n'.replace("D", delimiter)
    found = read_account(text.encode(), delimiter, quoted=True, block=1 << 20)
    assert found.good == [(1, 2, ["1", f"a {delimiter}\n b", "3"]), (3, 3, ['x"y', "", ""])]


def blocks_of(content: bytes, size: int) -> Sequence[bytes]:
    with patch.object(decoding, "BLOCK_BYTES", size):
        return list(text_blocks(io.BytesIO(content), "a.csv"))


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
@pytest.mark.parametrize(
    ("text", "ends"), [("a,é\nb,𝄞\n\nc,d\n", "\n"), ("a,b\r\nc,d\r\n", "\r\n"), ("é,\r", "\r")]
)
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-be"]
)
def test_a_mark_names_the_encoding(text: str, ends: str, encoding: str, size: int):
    mark = "\ufeff" if encoding.endswith("-be") else ""
    found = b"".join(blocks_of((mark + text).encode(encoding), size)).decode()
    assert found.replace("\r\n", "\n") == text.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n".encode("utf-16-le"), "line 1 holds a byte 0.*UTF-16 without its mark"),
        ("a,b\n".encode("utf-16-be"), "line 1 holds a byte 0.*UTF-16 without its mark"),
        ("a,b\n".encode("utf-16")[:-1], "is not UTF-16, which its first bytes name"),
    ],
)
def test_bytes_that_are_no_text_are_refused(content: bytes, words: str):
    with pytest.raises(DatasetError, match=words):
        blocks_of(content, 1 << 20)


def test_a_long_line_is_cut_in_bounded_memory():
    with patch.object(decoding, "LONGEST_LINE_BYTES", 32):
        lines = b"".join(blocks_of(b"a\n" + b"x" * 1000 + b"\nb\n" + b"y" * 100, 8)).splitlines()
    assert (lines[0], lines[2], len(lines)) == (b"a", b"b", 4)
    assert all(32 <= len(line) <= 40 for line in (lines[1], lines[3]))


def test_a_row_of_another_width_that_is_not_utf8_is_a_bad_row():
    part = RawText(
        place="a.csv", name="a.csv", file=io.BytesIO(b"a,b\n\xe9\n1,\xe9\n"), bytes_read=lambda: 0
    )
    text = CsvText(part, ",", quoted=True, header=True)
    (rows,) = text.rows(text.names(), [1])
    assert [(bad.line, bad.words()) for bad in rows.bad] == [
        (2, "1 columns instead of 2: '\ufffd'"),
        (3, "it is not UTF-8"),
    ]
    assert rows.batch.num_rows == 0
