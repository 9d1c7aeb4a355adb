"""CSV files as tables, read in blocks: plain, gzip or xz, alone or in tar or zip archives.

A file may be larger than memory. Rows count from 1, with the header, as lines do where no cell
holds a line end and no line is empty.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.raw import Part as RawPart
from workloads.datasets.imports.raw import parts, readable
from workloads.datasets.manifest import canonical
from workloads.datasets.tables.found import Paths, archive_of, found_files, paths_beside
from workloads.datasets.tables.table import Chunk, Part
from workloads.datasets.tables.text_bytes import TextBytes

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 8 << 20
"""Read at a time; no row may be longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFiles:
    """CSV files.

    Attributes:
        paths: files, or globs of files; of an archive `ARCHIVE!PATTERN` the members that match.
        delimiter: between cells; a blank: any run of blanks and tabs.
        quoted: whether cells in quotes may hold delimiters and line ends; else quotes are quotes.
        header: whether the first row names the columns; else they are called 1, 2, ...
    """

    paths: Paths
    delimiter: str
    quoted: bool
    header: bool

    @property
    def label(self) -> str:
        """As `Source.label`."""
        return ", ".join(Path(path).name for path in self.paths)

    def files(self) -> tuple[Path, ...]:
        """As `Source.files`."""
        return found_files(tuple(archive_of(path)[0] for path in self.paths), folders=None)

    def content(self) -> str:
        """As `Source.content`."""
        members = [archive_of(path)[1] for path in self.paths]
        return canonical(["csv", self.delimiter, self.quoted, self.header, members])

    def beside(self, folder: Path) -> "TextFiles":
        """As `Source.beside`."""
        return replace(self, paths=paths_beside(self.paths, folder))

    def parts(self, at: Callable[[int], None]) -> Iterator[Part]:
        """As `Source.parts`."""
        done = 0
        for given in self.paths:
            archive, pattern = archive_of(given)
            for path in found_files((archive,), folders=None):
                none = True
                for raw in parts(path):
                    member = raw.place.removeprefix(f"{path}!")
                    if fnmatchcase(member, pattern):
                        none = False
                        yield self._part(raw, partial(_tell, at, raw, done))
                if none:
                    raise DatasetError(f"{path} has no member {pattern}")
                done += path.stat().st_size

    def _part(self, raw: RawPart, at: Callable[[], None]) -> Part:
        text = TextBytes(raw, self.delimiter, quoted=self.quoted)
        with readable(raw.place, lambda: "its beginning"):
            names = text.names()
        if not self.header:
            names = tuple(str(number) for number in range(1, len(names) + 1))
        return Part(
            place=raw.place,
            file=raw.name,
            names=names,
            chunks=lambda chosen: self._chunks(raw, text, names, chosen, at),
        )

    def _chunks(
        self,
        raw: RawPart,
        text: "TextBytes",
        names: Sequence[str],
        chosen: Sequence[int],
        at: Callable[[], None],
    ) -> Iterator[Chunk]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        skipped: list[int] = []
        ragged: list[str] = []

        def skip(row: "arrow_csv.InvalidRow") -> str:
            skipped.append(row.number)
            ragged.append(
                f"{raw.place}: row {row.number}: {row.actual_columns} columns instead of "
                f"{row.expected_columns}: {row.text[:60]!r}"
            )
            return "skip"

        last = len(names) - 1
        inner = [str(number) for number in range(len(names))]
        wanted = sorted({*chosen, last})
        good = 0
        with readable(raw.place, lambda: f"row {good + len(skipped)}"):
            try:
                reader = arrow_csv.open_csv(
                    pa.PythonFile(text, mode="r"),
                    read_options=arrow_csv.ReadOptions(
                        use_threads=False,
                        block_size=BLOCK_BYTES,
                        column_names=inner,
                        encoding=text.encoding,
                    ),
                    parse_options=arrow_csv.ParseOptions(
                        delimiter=self.delimiter,
                        quote_char='"' if self.quoted else False,
                        newlines_in_values=self.quoted,
                        invalid_row_handler=skip,
                    ),
                    convert_options=arrow_csv.ConvertOptions(
                        column_types={name: pa.binary() for name in inner},
                        include_columns=[inner[index] for index in wanted],
                    ),
                )
                ending = b""
                for batch in reader:
                    if not batch.num_rows:
                        continue
                    rows = _numbers(good, batch.num_rows, skipped)
                    good += batch.num_rows
                    ending = batch.column(wanted.index(last))[-1].as_py()
                    columns = [batch.column(wanted.index(index)) for index in chosen]
                    begin = int(self.header and rows[0] == 1)
                    found = _chunk(raw.place, columns, rows, begin, ragged)
                    yield replace(found, of_lines=_of_lines(batch, begin))
                    ragged = []
                    at()
            except pa.ArrowInvalid as error:
                raise DatasetError(
                    f"{raw.place} cannot be read as CSV after row {good + len(skipped)}: "
                    f"{_explained(error)}"
                ) from error
            if self.quoted and text.quotes % 2 and b"\n" in ending:
                raise DatasetError(
                    f"{raw.place}: row {good + len(skipped)}: a quote is opened and never closed; "
                    "the rest of the file is in its last cell"
                )
        if ragged:
            yield _chunk(
                raw.place, [pa.array([], pa.binary()) for _ in chosen], rows[:0], 0, ragged
            )


def _tell(at: Callable[[int], None], raw: RawPart, done: int) -> None:
    at(done + raw.at())


def _numbers(good: int, count: int, skipped: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the numbers of good rows [good, good + count), given those that were skipped."""
    index = np.arange(good, good + count)
    before = np.array(skipped, np.int64) - 1 - np.arange(len(skipped))
    return index + 1 + np.searchsorted(before, index, side="right")


def _of_lines(batch: "pa.RecordBatch", begin: int) -> int:
    """Count the rows from `begin` on of which a cell holds a line end."""
    import pyarrow.compute as pc

    ends = np.zeros(batch.num_rows, np.bool_)
    for column in batch.columns:
        ends |= np.asarray(pc.match_substring(column, "\n").to_numpy(zero_copy_only=False))
    return int(np.count_nonzero(ends[begin:]))


def _chunk(
    place: str,
    columns: Sequence["pa.Array"],
    rows: npt.NDArray[np.int64],
    begin: int,
    bad: list[str],
) -> Chunk:
    """Return a chunk of the rows from `begin` on whose cells are UTF-8."""
    import pyarrow as pa

    texts, wrong = [], np.zeros(len(rows), np.bool_)
    for column in columns:
        try:
            texts.append(column.cast(pa.string()))
        except pa.ArrowInvalid:
            found = [_decoded(cell) for cell in column.to_pylist()]
            wrong |= np.array([text is None for text in found], np.bool_)
            texts.append(pa.array(found, pa.string()))
    wrong[:begin] = False
    bad = [*bad, *(f"{place}: row {row}: it is not UTF-8" for row in rows[wrong])]
    kept = np.flatnonzero(~wrong)[begin:]
    if begin or len(kept) < len(rows):
        texts = [column.take(pa.array(kept)) for column in texts]
    numbers = rows[kept]
    names = [str(index) for index in range(len(texts))]
    return Chunk(
        batch=pa.RecordBatch.from_arrays(texts, names),
        number=lambda index: int(numbers[index]),
        bad=bad,
    )


def _decoded(cell: bytes) -> str | None:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


def _explained(error: Exception) -> str:
    if "straddling" in str(error):
        return (
            f"a row is longer than {BLOCK_BYTES >> 20} MiB, or a quote is opened and never closed"
        )
    return str(error)
