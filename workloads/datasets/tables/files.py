"""Reads files as tables: texts (CSV, JSON lines, access logs), Parquet and Arrow IPC.

Texts may be compressed with gzip or xz, and may be members of tar or zip archives. A file may be larger than memory.
Row numbers of CSV count from 1 and include the header and bad rows, but not empty lines. Messages add line numbers
where they differ.
"""

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from operator import add
from pathlib import Path
from typing import Self

import numpy as np

from streamlab.workloads.datasets import pa, pq
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.raw_files import (
    ByteRange,
    RawText,
    check_readable,
    is_plain,
    read_texts,
)
from streamlab.workloads.datasets.manifest import canonical
from streamlab.workloads.datasets.tables.source import FIRST, Head, Part, Split, Start, ignore
from streamlab.workloads.datasets.text import decoding
from streamlab.workloads.datasets.text.csv_text import CsvText, LineText
from streamlab.workloads.datasets.text.line_formats import JsonText, LogText
from streamlab.workloads.datasets.text.records import Chunk
from streamlab.workloads.default_folders import start_folder

Text = CsvText | LineText | JsonText | LogText

ROWS = 1 << 16
"""Rows read at a time, unless the file's own blocks are smaller."""
SPLIT_BYTES = 32 << 20
"""Size of splits of texts: less than a second's work, so that all cores finish at about the same time."""
SPLIT_ROWS = 1 << 20
"""Minimum number of rows in a split of a Parquet file, except the last."""
_LINE_BYTES = 1 << 20
"""A text is not split within a line longer than this."""
_STREAM_MARK, _FILE_MARK, _PARQUET_MARK = b"\xff\xff\xff\xff", b"ARROW1", b"PAR1"
"""The first bytes of Arrow IPC streams, Arrow IPC files and Parquet files."""
CSV, JSONL, ACCESS_LOG = "csv", "jsonl", "access-log"
_FORMATS = {_PARQUET_MARK: "parquet", _FILE_MARK: "arrow", _STREAM_MARK: "arrow"}
"""The format by a file's first bytes. All other files are CSV, possibly compressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """Files of one format.

    Attributes:
        paths: files, globs and folders, as the user wrote them.
    """

    paths: tuple[str, ...]

    @property
    def label(self) -> str:
        """A short name for people."""
        return ", ".join(Path(path).name for path in self.paths)

    def relative_to(self, folder: Path) -> Self:
        """Return the files with relative paths resolved against a folder."""
        escaped = Path(glob.escape(str(folder)))
        paths = ((escaped if _is_glob(_archive_of(p)[0]) else folder) / p for p in self.paths)
        return replace(self, paths=tuple(map(str, paths)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFiles(_Files):
    """Parquet or Arrow IPC files. A folder stands for all files below it.

    Attributes:
        ipc: whether the files are Arrow IPC files (including Feather) or streams; else they are Parquet files.
    """

    ipc: bool = False

    def files(self) -> tuple[Path, ...]:
        """Return the files, in reading order."""
        suffix = ".arrow" if self.ipc else ".parquet"
        return tuple(file for path in self.paths for file in _find_files(path, suffix))

    def content(self) -> str:
        """Return the format."""
        return "arrow" if self.ipc else "parquet"

    def splits(self) -> tuple[Split, ...]:
        """Return a split for each Arrow IPC file, or for consecutive row groups of Parquet files."""
        if self.ipc:
            return tuple(Split(path=path) for path in self.files())
        return tuple(split for path in self.files() for split in group_splits(path))

    def parts(
        self, split: Split, start: Start = FIRST, report_bytes: Callable[[int], None] = ignore
    ) -> Iterator[Part]:
        """Yield the parts of a split. The bytes read are not reported."""
        if self.ipc:
            return arrow_parts(split.file)
        return parquet_parts(split.file, split, start.row)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFiles(_Files):
    """CSV files, JSON lines or access logs; `ARCHIVE!PATTERN` is the path of the matching members of an archive.

    Attributes:
        file_format: CSV, JSONL or ACCESS_LOG. The other attributes apply to CSV only.
        delimiter: the separator of cells. A blank stands for any run of blanks and tabs.
        quoted: whether cells in quotes may hold delimiters and line ends; else a quote is a plain character.
        header: whether the first row names the columns; else their names are 1, 2, ...
    """

    file_format: str = CSV
    delimiter: str = ","
    quoted: bool = True
    header: bool = True

    def files(self) -> tuple[Path, ...]:
        """Return the files, in reading order."""
        return tuple(file for path in self.paths for file in _find_files(_archive_of(path)[0]))

    def content(self) -> str:
        """Return the format, the patterns of members and the settings of CSV."""
        members = [_archive_of(path)[1] for path in self.paths]
        if self.file_format != CSV:
            return canonical([self.file_format, members])
        return canonical(["csv", self.delimiter, self.quoted, self.header, members])

    def splits(self) -> tuple[Split, ...]:
        """Return the splits: byte ranges of plain files, and complete archives and compressed files."""
        return tuple(
            split
            for archive, pattern in map(_archive_of, self.paths)
            for path in _find_files(archive)
            for split in text_splits(path, pattern)
        )

    def parts(
        self, split: Split, start: Start = FIRST, report_bytes: Callable[[int], None] = ignore
    ) -> Iterator[Part]:
        """Yield the parts of a split; call `report_bytes` with the number of the split's bytes read so far."""
        return text_parts(split, start, report_bytes, self._text, self._members(split))

    def _members(self, split: Split) -> Iterator[RawText]:
        """Yield the texts of a split's file: the matching members of an archive, or the file itself."""
        path, has_match = split.file, False
        for raw in read_texts(path):
            if fnmatchcase(raw.place.removeprefix(f"{path}!"), split.members):
                has_match = True
                yield raw
        if not has_match:
            raise DatasetError(f"{path} has no member {split.members}")

    def _text(self, raw: RawText, head: Head | None) -> Text:
        """Return the reader of a text; `head` is the head of its file if the text is a later split."""
        if self.file_format == JSONL:
            return JsonText(raw, head.types if head else None)
        if self.file_format == ACCESS_LOG:
            return LogText(raw)
        return CsvText(raw, self.delimiter, quoted=self.quoted, header=self.header)


def paths_of(paths: object) -> tuple[str, ...]:
    """Return paths as texts.

    Raises:
        DatasetError: `paths` is neither a path nor a sequence of paths.
    """
    path_list = paths if isinstance(paths, list | tuple) else [paths]
    for path in path_list:
        if not isinstance(path, str | Path) or not str(path):
            raise DatasetError(f"{path!r} is not a path of a file; give a text or a Path")
    if not path_list:
        raise DatasetError("no file given; name at least one")
    return tuple(str(path) for path in path_list)


def detect_format(path: Path) -> str:
    """Return the format that a file's first bytes show: `parquet` or `arrow`, otherwise `csv`."""
    with path.open("rb") as file:
        start = file.read(max(map(len, _FORMATS)))
    formats = (name for mark, name in _FORMATS.items() if start.startswith(mark))
    return next(formats, CSV)


def detect_path_format(path: str) -> str:
    """Return the format of the first file of a path.

    Raises:
        DatasetError: no file found, or it cannot be read.
    """
    archive, _ = _archive_of(path)
    place = Path(start_folder(), archive)
    files = sorted(place.rglob("*.parquet")) or sorted(place.rglob("*.arrow"))
    file = files[0] if place.is_dir() and files else _list_files(archive)[0]
    check_readable(file)
    with file.open("rb") as text:
        if text.read(1) == b"{":
            return JSONL
    return detect_format(file)


def parquet_parts(path: Path, split: Split | None = None, row: int = 1) -> Iterator[Part]:
    """Yield one part: a Parquet file, or the row groups of a split, whose first row has number `row`."""
    with (
        _convert_arrow_errors(path, "Parquet"),
        path.open("rb") as raw,
        pq.ParquetFile(raw) as file,
    ):
        names = tuple(file.schema_arrow.names)

        def chunks(chosen: Sequence[int]) -> Iterator[Chunk]:
            # Columns that share a name are never chosen, because their name would read all of them.
            chosen_names = list(dict.fromkeys(names[index] for index in chosen))
            with _convert_arrow_errors(path, "Parquet"):
                groups = split and range(split.begin, split.end or file.num_row_groups)
                batches = file.iter_batches(ROWS, groups, columns=chosen_names)
                # Arrow does not promise the order of columns.
                ordered = (batch.select([names[index] for index in chosen]) for batch in batches)
                yield from chunk_batches(ordered, range(len(chosen)), row)

        yield Part(place=str(path), file=path.name, head=Head(names=names), chunks=chunks)


def arrow_parts(path: Path) -> Iterator[Part]:
    """Yield one part: a file or stream of Arrow IPC."""
    with _convert_arrow_errors(path, "Arrow IPC"), pa.memory_map(os.fsencode(path)) as file:
        start = file.read(len(_FILE_MARK))
        file.seek(0)
        if start == _FILE_MARK:
            reader = pa.ipc.open_file(file)
            batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
        elif start.startswith(_STREAM_MARK):
            reader = pa.ipc.open_stream(file)
            batches = iter(reader)
        else:
            raise DatasetError(f"{path} is neither an Arrow IPC file nor an Arrow IPC stream")

        def chunks(chosen: Sequence[int]) -> Iterator[Chunk]:
            with _convert_arrow_errors(path, "Arrow IPC"):
                yield from chunk_batches(batches, chosen)

        head = Head(names=tuple(reader.schema.names))
        yield Part(place=str(path), file=path.name, head=head, chunks=chunks)


def group_splits(path: Path) -> Iterator[Split]:
    """Yield splits of a Parquet file: consecutive row groups."""
    with _convert_arrow_errors(path, "Parquet"), pq.ParquetFile(path) as file:
        rows = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    begin, count = 0, 0
    for group, group_rows in enumerate(rows):
        count += group_rows
        if count >= SPLIT_ROWS and group + 1 < len(rows):
            yield Split(path=path, begin=begin, end=group + 1)
            begin, count = group + 1, 0
    yield Split(path=path, begin=begin)


def text_splits(path: Path, members: str = "*") -> Iterator[Split]:
    """Yield splits of a text file: byte ranges of a plain file, or a complete archive or compressed file."""
    cuts = _find_cuts(path)
    for begin, end in zip([0, *cuts], [*cuts, None], strict=True):
        yield Split(path=path, members=members, begin=begin, end=end)


def _find_cuts(path: Path) -> list[int]:
    """Return the positions at which a text is split, each the start of a line. The first split is at most one block."""
    size = path.stat().st_size
    if size <= decoding.BLOCK_BYTES or not is_plain(path):
        return []
    cuts: list[int] = []
    with path.open("rb") as file:
        head = file.read(decoding.BLOCK_BYTES)
        if not decoding.may_be_cut(head):
            return []
        for target in range(decoding.BLOCK_BYTES, size, SPLIT_BYTES):
            search_begin = max(0, target - _LINE_BYTES)
            file.seek(search_begin)
            line = search_begin + file.read(target - search_begin).rfind(b"\n") + 1
            if line > max([search_begin, *cuts[-1:]]) and (cuts or head[:line].strip()):
                cuts.append(line)
    return cuts


def chunk_batches(
    batches: "Iterator[pa.RecordBatch]", chosen: Sequence[int], row: int = 1
) -> Iterator[Chunk]:
    """Yield the chosen columns of batches as chunks; the first row has number `row`."""
    names = [str(number) for number in range(len(chosen))]
    rows_before = row - 1
    for large_batch in batches:
        for begin in range(0, large_batch.num_rows, ROWS):
            batch = large_batch.slice(begin, ROWS)
            yield Chunk(
                batch=pa.RecordBatch.from_arrays([batch.column(i) for i in chosen], names),
                number=partial(add, rows_before + begin + 1),
                further=np.zeros(batch.num_rows, np.int64),
            )
        rows_before += large_batch.num_rows


def text_parts(
    split: Split,
    start: Start,
    report_bytes: Callable[[int], None],
    text: Callable[[RawText, Head | None], Text],
    members: Iterable[RawText],
) -> Iterator[Part]:
    """Yield the parts of a split of texts: a byte range, or all `members` of a complete file."""
    path = split.file
    if not split.begin and split.end is None:
        for raw in members:
            yield _text_part(raw, text(raw, None), report_bytes)
        return
    end = path.stat().st_size if split.end is None else split.end
    with path.open("rb") as file:
        lines = ByteRange(file, start.begin, end)
        raw = RawText(
            place=str(path),
            name=path.name,
            file=lines,
            bytes_read=lines.bytes_read,
            row=start.row,
            line=start.line,
            read_past_end=lines.read_past_end,
        )
        part = _text_part(raw, text(raw, start.head), report_bytes, start.head)
        yield replace(part, end=lambda: lines.end)


def _text_part(
    raw: RawText, text: Text, report_bytes: Callable[[int], None], head: Head | None = None
) -> Part:
    """Return a text as a part, which calls `report_bytes` after each chunk; read the head unless given."""
    if head is None:
        names = text.names()
        head = Head(names=names, types=text.types if isinstance(text, JsonText) else {})

    def chunks(chosen: Sequence[int]) -> Iterator[Chunk]:
        for chunk in text.rows(head.names, chosen):
            yield chunk
            report_bytes(raw.bytes_read())

    return Part(place=raw.place, file=raw.name, head=head, chunks=chunks)


@contextmanager
def _convert_arrow_errors(path: Path, file_format: str) -> Iterator[None]:
    """Convert errors from reading a damaged file into a `DatasetError`."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).rstrip(".")
        raise DatasetError(f"{path} cannot be read as {file_format}: {reason}") from error


def _archive_of(path: str) -> tuple[str, str]:
    """Return the file of a path, and the pattern of the archive's members to read."""
    archive, mark, pattern = path.partition("!")
    return (archive, pattern) if mark and not Path(start_folder(), path).exists() else (path, "*")


def _is_glob(path: str) -> bool:
    return any(sign in path for sign in "*?[")


def _find_files(path: str, suffix: str | None = None) -> list[Path]:
    """Return the files of a path, after checking that all can be read."""
    files = _list_files(path, suffix)
    for file in files:
        check_readable(file)
    return files


def _list_files(path: str, suffix: str | None = None) -> list[Path]:
    """Return the file of a path, or the files of a glob or of a folder, in order of name.

    Files of a folder end in `suffix`. If it is None, a folder is an error.
    """
    place = Path(start_folder(), path)
    if _is_glob(path) and not place.exists():
        matching = sorted(Path(match) for match in glob.glob(str(place), recursive=True))  # noqa: PTH207 - of any path
        files = [file for file in matching if file.is_file() and not file.name.startswith(".")]
        if not files:
            raise DatasetError(f"{path} matches no file")
        return files
    if not place.is_dir():
        return [place]
    if suffix is None:
        raise DatasetError(f"{path} is a folder; name its files, such as {path.rstrip('/')}/*.csv")
    candidates = sorted(place.rglob(f"*{suffix}"))
    files = [file for file in candidates if file.is_file() and not file.name.startswith((".", "_"))]
    if not files:
        raise DatasetError(f"{path} is a folder without a file *{suffix}")
    return files
