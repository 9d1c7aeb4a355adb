"""Tweets to the input `tweets`: lines of `id|time|text`, or CSV with chosen columns.

Without `--columns` every line is `id|Thu Apr 09 01:31:50 +0000 2015|text`: only the first two bars
part fields, and the author is the name of the file without its suffix. Lines that are not UTF-8 are
read as Windows-1252; empty lines are passed over. With `--columns ts=...,text=...` (and `user=...`)
the files are CSV; times are as `--time` says.

Both may be in any order, as archives of tweets are newest first: they are always sorted by time
(ties: by file and line). A text of more than 131,072 characters is a bad row. `words.py` describes
how texts become words; times are in milliseconds.
"""

from collections.abc import Iterator
from pathlib import Path

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports import texts
from workloads.datasets.imports.csv_rows import CSV_SETTINGS, Cells, read_csv
from workloads.datasets.imports.kind import (
    TIME_SETTING,
    BadRowError,
    Fields,
    ImportKind,
    ImportOptions,
    Row,
)
from workloads.datasets.imports.lines import Line, read_lines
from workloads.datasets.imports.raw import At
from workloads.model import Alphabet

_BARS = 2
_MOST_CHARACTERS = 1 << 17
"""A longer text is no tweet: usually a quote or a line end is missing."""


def read(path: Path, options: ImportOptions, at: At) -> Iterator[tuple[str, Fields]]:
    """Yield lines, or CSV records where columns are chosen.

    Raises:
        DatasetError: `--columns` lacks the time or the text.
    """
    if not options.columns:
        return read_lines(path, options, at)
    missing = [role for role in ("ts", "text") if role not in options.columns]
    if missing:
        raise DatasetError(f"--columns does not say which column is {' and '.join(missing)}")
    return read_csv(path, options, at)


def parse(fields: Line | Cells, options: ImportOptions) -> Row | None:
    """Return (ts, user, text); None for an empty line.

    Raises:
        BadRowError: fields are missing, or the time is none.
    """
    if isinstance(fields, Cells):
        user = fields["user"] if "user" in options.columns else ""
        return options.time(fields["ts"]), user, _checked(fields["text"])
    if not fields.raw:
        return None
    parts = _text(fields).split("|", _BARS)
    if len(parts) != _BARS + 1:
        raise BadRowError("not of the form id|time|text")
    return options.time(parts[1]), Path(fields.file).stem, _checked(parts[2])


def _checked(text: str) -> str:
    if len(text) > _MOST_CHARACTERS:
        raise BadRowError(f"a text of {len(text):,} characters, above {_MOST_CHARACTERS:,}")
    return text


def _text(line: Line) -> str:
    line.check()
    try:
        return line.raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        return line.raw.decode("cp1252")
    except UnicodeDecodeError as error:
        raise BadRowError(f"neither UTF-8 nor Windows-1252 at byte {error.start + 1}") from error


TWEETS = ImportKind(
    name="tweets",
    workload="tweets",
    help="tweets: lines of id|time|text, one file for each author, or CSV with --columns",
    read=read,
    parse=parse,
    columns=(("user", "string"), ("text", "string")),
    prepare=texts.prepare,
    dictionaries=texts.DICTIONARIES,
    keys=None,
    streams=texts.streams,
    alphabet=lambda keys: Alphabet(kinds=("tweet",), keys=keys),
    roles=("ts", "user", "text"),
    settings=(
        *CSV_SETTINGS,
        TIME_SETTING,
    ),
    sorts=True,
)
