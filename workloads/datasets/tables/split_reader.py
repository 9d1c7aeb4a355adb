"""Reads the splits of a source in parallel: of a table, or of files of a known kind.

A split is read with what is known, or guessed, of the rows before it (`PrecedingRows`): where its first record
begins, the form of times, the latest time, and the numbers of its first row and line. When all splits are read, the
truth is known. A split is read again if the guess was wrong and that matters: rows and messages are those of a reading
from the first row to the last. The first split is read alone, because it has the head of the file and shows the form
of times.

A split leaves files in a folder: runs of rows by kind, the distinct texts of each run, and its `SplitResult`. A later
try continues with the files that it finds.
"""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.arrow import Column
from streamlab.workloads.datasets.dictionary import Numbering
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import Executor, InProcess
from streamlab.workloads.datasets.progress import report
from streamlab.workloads.datasets.sorted_runs import (
    NUMBER,
    Run,
    SortedRuns,
    map_columns,
    write_columns,
)
from streamlab.workloads.datasets.tables.source import Head, Part, Split, Splits, Start
from streamlab.workloads.datasets.tables.split_writer import (
    SplitWriter,
    numbers_path,
    run_path,
    texts_path,
)
from streamlab.workloads.datasets.text.records import Chunk
from streamlab.workloads.datasets.text.report import RowReport
from streamlab.workloads.datasets.times import TimeReader
from streamlab.workloads.datasets.times.recognition import AS_IS, Recognition

FORMAT = 2
"""Version of the files that a split leaves; a later try reads splits of other versions again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecedingRows:
    """Facts, known or guessed, about the rows before a split.

    Attributes:
        start: the place of its first row.
        rows: number of rows before.
        latest: the latest time before.
        recognition: the form of times; None: not decided.
    """

    start: Start
    rows: int
    latest: int | None
    recognition: Recognition | None


Report = TypeVar("Report", bound=RowReport)


@dataclass(slots=True, kw_only=True)
class SplitResult(Generic[Report]):
    """The result of reading a split.

    Attributes:
        split: the split.
        before: what was assumed of the rows before.
        reading: the report on its rows alone.
        times: how times were read.
        head: the head of its text.
        end: the place after its last record.
        rows: number of rows in its text, also bad ones and a header.
        lines: number of lines in its text.
        runs: each run, by kind; their paths are no longer valid.
        texts: the columns of texts, and where each was first read.
        error: why it cannot be read; empty if it was read.
    """

    split: Split
    before: PrecedingRows
    reading: Report
    times: TimeReader
    head: Head | None = None
    end: int = 0
    rows: int = 0
    lines: int = 0
    runs: list[dict[int, Run]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    error: str = ""

    def is_valid_after(self, before: PrecedingRows, *, words: bool) -> bool:
        """Return whether reading again, after the true `before`, would give the same; with `words`, the same words."""
        mine = self.before
        start = replace(before.start, row=mine.start.row, line=mine.start.line)
        if mine.start != (before.start if words or self.error else start):
            return False
        form = _form(before.recognition)
        if form == _form(mine.recognition) == AS_IS and not self.reading.bad:
            # If the range of numbers has only grown, all are in it.
            assert before.recognition is not None and mine.recognition is not None, (
                "both have a form"
            )
            return before.recognition.includes(mine.recognition)
        return _decided_state(before.recognition) == _decided_state(mine.recognition)

    def has_reported_messages(self, merged: Report, times: TimeReader) -> bool:
        """Return whether its messages would be in the report, after those of the splits before."""
        repeated = self.times.repeated and not times.repeated
        return bool(repeated or self.reading.has_messages_after(merged))


def _decided_state(recognition: Recognition | None) -> dict[str, object] | None:
    """Return the state of a recognition that has decided; None of others."""
    return None if recognition is None or recognition.form is None else vars(recognition)


def _form(recognition: Recognition | None) -> str | None:
    return None if recognition is None else recognition.form


class Parser(Protocol):
    """Parses the rows of a split."""

    def columns(self, part: Part) -> Sequence[int]:
        """Return the indices of the columns to read; raises `DatasetError` if one is missing."""

    def rows(self, part: Part, chunk: Chunk) -> "Mapping[str, Column | pa.Array]":
        """Return the good rows of a chunk, and record all but empty lines and headers in the result.

        The columns are `ts`, `kind`, for kinds of files `ROW_NUMBER`, and others. Arrays of Arrow are texts, or lists
        of texts, that are numbered later.
        """


class Rows(Protocol[Report]):
    """The rows of a source and how they are read. Tasks get it pickled."""

    @property
    def source(self) -> Splits:
        """Return the splits."""

    def reading(self, latest: int | None = None) -> Report:
        """Return the report of no rows, after rows with this latest time."""

    def times(self) -> TimeReader:
        """Return a reader of times."""

    def parser(self, result: SplitResult[Report]) -> Parser:
        """Return the parser of a split, which records in `result`; raises `DatasetError` if there is none."""

    def is_valid_after(self, result: SplitResult[Report], before: PrecedingRows) -> bool:
        """Return whether the number and the latest time of the rows before would change nothing in the result."""

    def refuse(self, reading: Report) -> None:
        """Raise a `DatasetError` if the first rows show that no row can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRows(Generic[Report]):
    """The rows of a source on disk.

    Attributes:
        reading: the report on all rows.
        folder: holds the files.
        results: of each split.
    """

    reading: Report
    folder: Path
    results: Sequence[SplitResult[Report]]

    def coded_runs(self, column: str) -> "Iterator[tuple[pa.Array, dict[str, Column]]]":
        """Yield the distinct texts of a column in each run, and the run, in which their indices are this column."""
        for index, result in enumerate(self.results):
            for number, by_kind in enumerate(result.runs):
                texts = pickle.loads(texts_path(self.folder, index, number).read_bytes())[column]
                for kind in by_kind:
                    path = run_path(self.folder, index, number, kind)
                    yield texts, map_columns(path)

    def number(
        self,
        numberings: Mapping[str, Numbering],
        dtypes: "Mapping[str, np.dtype[Any]] | None" = None,
    ) -> None:
        """Number all texts in order of appearance, by run; write the numbers of each run's texts.

        Args:
            numberings: of each column of texts.
            dtypes: of the numbers of each column, if not int32.

        Raises:
            DatasetError: more texts than a type can number.
        """
        for index, result in enumerate(self.results):
            for number, by_kind in enumerate(result.runs):
                path = texts_path(self.folder, index, number)
                if not any(run.number_files for run in by_kind.values()):
                    continue
                for column, texts in pickle.loads(path.read_bytes()).items():
                    ids, count = numberings[column].add(texts), len(numberings[column])
                    dtype = (dtypes or {}).get(column, np.dtype(np.int32))
                    if count - 1 > np.iinfo(dtype).max:
                        raise DatasetError(
                            f"{result.texts[column]}: {count:,} different texts are more than "
                            f"field {column.removeprefix('.')} of type {dtype} can number"
                        )
                    write_columns(numbers_path(path, column), {NUMBER: ids.astype(dtype)})

    def text_columns(self) -> Sequence[str]:
        """Return the columns of texts, in order of appearance."""
        return list(dict.fromkeys(column for result in self.results for column in result.texts))

    def earliest(self) -> int | None:
        """Return the first time; None without rows."""
        runs = (
            run for result in self.results for by_kind in result.runs for run in by_kind.values()
        )
        return min((int(run.sample[0]) for run in runs), default=None)

    def rows_of_kind(self, kind: int, ts: int | None = None) -> SortedRuns:
        """Return the rows of a kind, all with time `ts` if it is set."""
        runs, before = [], 0
        for index, result in enumerate(self.results):
            for number, by_kind in enumerate(result.runs):
                texts = texts_path(self.folder, index, number)
                if kind in by_kind:
                    path = run_path(self.folder, index, number, kind)
                    run = by_kind[kind]
                    numbers = {column: numbers_path(texts, column) for column in run.number_files}
                    offsets = dict.fromkeys(run.row_offsets, before)
                    runs.append(replace(run, path=path, number_files=numbers, row_offsets=offsets))
            before += result.reading.rows
        return SortedRuns(runs, ts)


def read_splits(rows: Rows[Report], folder: Path, on: Executor) -> SplitRows[Report]:
    """Read all good rows to a folder.

    Raises:
        DatasetError: the source cannot be read, a column is missing, or `Rows.refuse` raises it.
    """
    folder.mkdir(exist_ok=True)
    splits = rows.source.splits()
    results = [_load(_result_path(folder, index), split) for index, split in enumerate(splits)]
    if not rows.source.files():
        on = InProcess()  # rows in memory are here alone
    while True:
        merged = _Merge(rows)
        preceding = [merged.add(*each) for each in zip(splits, results, strict=True)]
        due = [index for index in sorted(merged.due) if preceding[index] is not None]
        if not due:
            break
        if not any(results):
            due = due[:1]
        on.run(partial(_read_split, rows, folder, splits, preceding, due), len(due))
        for index in due:
            results[index] = _load(_result_path(folder, index), splits[index])
    merged.reading.times = merged.times.report()
    complete = [each for each in results if each is not None]
    return SplitRows(reading=merged.reading, folder=folder, results=complete)


class _Merge(Generic[Report]):
    """Merges the results of splits, in order, and lists those to read, or to read again.

    Attributes:
        due: the indices of these splits.
        reading: of all rows so far.
        times: how their times were read.
    """

    def __init__(self, rows: Rows[Report]) -> None:
        self._rows = rows
        self.reading, self.times = rows.reading(), rows.times()
        self._start = Start()
        self._certain = True
        self._last_with_rows, self._exact_words = 0, True
        self._count = 0
        self.due: set[int] = set()

    def add(self, split: Split, result: SplitResult[Report] | None) -> PrecedingRows | None:
        """Add the next split and return what is known before it; None: it cannot be read yet.

        Raises:
            DatasetError: the split cannot be read, or `Rows.refuse` raises it.
        """
        index, self._count = self._count, self._count + 1
        if split.begin == 0:
            self._start = Start()
        elif self._start.head is None:
            self._certain = False
            self.due.add(index)
            return None
        reading, times = self.reading, self.times
        before = PrecedingRows(
            start=replace(self._start, begin=max(split.begin, self._start.begin)),
            rows=reading.rows_read,
            latest=reading.latest,
            recognition=copy(times.recognition),
        )
        if result is None:
            self._certain = False
            self.due.add(index)
            self._start = replace(self._start, begin=0)
            return before
        words = result.has_reported_messages(reading, times)
        if not reading.descents and reading.descends_to(result.reading) and not self._exact_words:
            self.due.add(self._last_with_rows)
        if not (result.is_valid_after(before, words=words) and self._rows.is_valid_after(result, before)):
            self._certain = False
            self.due.add(index)
        elif self._certain and result.error:
            raise DatasetError(result.error)
        mine = result.before.start
        if result.reading.last_place:
            self._last_with_rows = index
            self._exact_words = (mine.row, mine.line) == (before.start.row, before.start.line)
        reading.merge(result.reading)
        times.merge(result.times)
        if self._certain:
            self._rows.refuse(reading)
        self._start = Start(
            begin=result.end,
            row=before.start.row + result.rows,
            line=before.start.line + result.lines,
            head=result.head,
        )
        return before


def _read_split(
    rows: Rows[Report],
    folder: Path,
    splits: Sequence[Split],
    preceding: Sequence[PrecedingRows | None],
    due: Sequence[int],
    task: int,
) -> None:
    """Read a split, and write its rows, texts and findings."""
    index = due[task]
    before, path = preceding[index], _result_path(folder, index)
    assert before is not None, "its start is known"
    path.unlink(missing_ok=True)
    times = rows.times()
    if before.recognition is not None:
        times.recognition = copy(before.recognition)
    result = SplitResult(
        split=splits[index], before=before, reading=rows.reading(before.latest), times=times
    )
    writer = SplitWriter(folder, index)
    at = partial(report, folder / f"{index}.done")
    try:
        for block in _blocks(rows, result, at, first=index == 0):
            writer.append(block)
        writer.finish()
        result.runs = writer.runs
    except DatasetError as error:
        result.error = str(error)
    result.times.repeated_texts.clear()
    new = path.with_suffix(".result.new")
    new.write_bytes(pickle.dumps((FORMAT, result)))
    new.replace(path)


def _blocks(
    rows: Rows[Report], result: SplitResult[Report], at: Any, *, first: bool
) -> "Iterator[Mapping[str, Column | pa.Array]]":
    """Yield the good rows of a split, and record the others."""
    parser, reading = rows.parser(result), result.reading
    for part in rows.source.parts(result.split, result.before.start, at):
        chosen = parser.columns(part)
        result.head, result.rows, result.lines = part.head, 0, 0
        for chunk in part.chunks(chosen):
            reading.empty_lines += chunk.empty_lines
            reading.skipped_lines += chunk.header_lines
            block = parser.rows(part, chunk)
            result.rows += chunk.batch.num_rows + len(chunk.bad) + bool(chunk.header_lines)
            result.lines += _lines(chunk)
            if first:
                rows.refuse(reading)
            if len(block["ts"]):
                yield block
        result.end = part.end()


def _lines(chunk: Chunk) -> int:
    bad = sum(1 + record.further for record in chunk.bad)
    lines: int = chunk.batch.num_rows + int(chunk.further.sum()) + bad
    return lines + chunk.empty_lines + chunk.header_lines


def _load(path: Path, split: Split) -> SplitResult[Any] | None:
    """Return the result of an earlier try; None: the split must be read."""
    if not path.is_file():
        return None
    try:
        version, result = pickle.loads(path.read_bytes())
    except (AttributeError, EOFError, ImportError, TypeError, ValueError, pickle.UnpicklingError):
        return None  # another version of the lab wrote it
    is_current = version == FORMAT and isinstance(result, SplitResult) and result.split == split
    return result if is_current else None


def _result_path(folder: Path, split: int) -> Path:
    return folder / f"{split}.result"
