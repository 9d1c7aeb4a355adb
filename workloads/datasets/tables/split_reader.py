"""Reads the splits of a source in parallel. The source is a table, or the files of an import kind.

Law: rows and messages are equal to those of one reading from the first row to the last.

1. The first split is read alone, because it has the head of the file and shows the format of times.
2. Every other split is read with guesses about the rows before it (`PrecedingRows`): the position of the split's
   first record, the format of times, the latest time, and the numbers of the split's first row and line.
3. When all splits are read, the facts are known. A split is read again if a wrong guess changed its result.

A split leaves files in a folder: runs of rows by kind, the distinct texts of each run, and its `SplitResult`. An
interrupted reading resumes with the files that it left.
"""

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from streamlab.workloads.datasets.progress import report as report_progress
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

FORMAT = 4
"""Version of the files that a split leaves. A resumed reading reads splits with another version again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecedingRows:
    """Facts about the rows before a split, exact or guessed.

    Attributes:
        start: the position of the split's first row.
        rows: number of rows before the split.
        latest: the latest time before the split.
        recognition: the format of times; None if not decided.
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
        before: the facts about preceding rows that the reading assumed.
        report: the report on the split's rows alone.
        times: the reader of the split's times.
        head: the head of the split's text.
        end: the byte after the split's last record.
        rows: number of rows in the text, including bad rows and a header.
        lines: number of lines in the text.
        runs: for each group of rows written together, its runs by kind. Use `run_path` instead of their paths, because
            a resumed reading has another folder.
        texts: the columns of texts, with the place where each was first read.
        error: why the split cannot be read; empty if it was read.
    """

    split: Split
    before: PrecedingRows
    report: Report
    times: TimeReader
    head: Head | None = None
    end: int = 0
    rows: int = 0
    lines: int = 0
    runs: list[dict[int, Run]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    error: str = ""

    def is_valid_after(self, before: PrecedingRows, *, exact_messages: bool) -> bool:
        """Return whether another reading, with the exact facts `before`, would have the same result.

        Unless `exact_messages`, the numbers of rows and lines in messages may differ.
        """
        guess = self.before
        start = replace(before.start, row=guess.start.row, line=guess.start.line)
        if guess.start != (before.start if exact_messages or self.error else start):
            return False
        time_format = _decided_format(before.recognition)
        if time_format == _decided_format(guess.recognition) == AS_IS and not self.report.bad:
            # A larger range of numbers contains all numbers of the guessed range.
            assert before.recognition is not None and guess.recognition is not None, (
                "both have a format"
            )
            return before.recognition.includes(guess.recognition)
        return _decided_state(before.recognition) == _decided_state(guess.recognition)

    def has_reported_messages(self, merged: Report, times: TimeReader) -> bool:
        """Return whether the report on all splits up to this one would contain messages of this one."""
        is_first_repeated = self.times.repeated and not times.repeated
        return bool(is_first_repeated or self.report.has_messages_after(merged))


def _decided_state(recognition: Recognition | None) -> dict[str, object] | None:
    """Return the state of a recognition that has decided; otherwise None."""
    return None if _decided_format(recognition) is None else vars(recognition)


def _decided_format(recognition: Recognition | None) -> str | None:
    return None if recognition is None else recognition.time_format


class Parser(Protocol):
    """Parses the rows of a split."""

    def columns(self, part: Part) -> Sequence[int]:
        """Return the indices of the columns to read; raises `DatasetError` if one is missing."""

    def rows(self, part: Part, chunk: Chunk) -> "Mapping[str, Column | pa.Array]":
        """Return the good rows of a chunk, and count all its rows in the result.

        The columns are `ts`, `kind`, for import kinds `ROW_NUMBER`, and others. Arrow arrays hold texts or lists of
        texts, which are numbered later.
        """


class Rows(Protocol[Report]):
    """The rows of a source, and the way to read them. This object is pickled for tasks on Spark."""

    @property
    def source(self) -> Splits:
        """Return the splits."""

    def new_report(self, latest: int | None = None) -> Report:
        """Return an empty report; `latest` is the latest time of the preceding rows."""

    def times(self) -> TimeReader:
        """Return a reader of times."""

    def parser(self, result: SplitResult[Report]) -> Parser:
        """Return the parser of a split, which records in `result`; raises `DatasetError` if a column is missing."""

    def is_valid_after(self, result: SplitResult[Report], before: PrecedingRows) -> bool:
        """Return whether `result` would be the same with the exact number and latest time of the preceding rows."""

    def refuse(self, report: Report) -> None:
        """Raise a `DatasetError` if the report on the first rows shows that no row can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRows(Generic[Report]):
    """The rows of a source on disk.

    Attributes:
        report: the report on all rows.
        folder: the folder of the files.
        results: the result of each split.
    """

    report: Report
    folder: Path
    results: Sequence[SplitResult[Report]]

    def coded_runs(self, column: str) -> "Iterator[tuple[pa.Array, dict[str, Column]]]":
        """Yield for each run the distinct texts of a column, and the run's columns with indices in place of texts."""
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
        """Number all texts in order of appearance, and write the numbers of each run's texts.

        Args:
            numberings: the numbering of each column of texts.
            dtypes: the type of the numbers of a column; int32 for columns without an entry.

        Raises:
            DatasetError: a type cannot number all texts.
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
        """Return the earliest time; None if there are no rows."""
        runs = (
            run for result in self.results for by_kind in result.runs for run in by_kind.values()
        )
        return min((int(run.sample[0]) for run in runs), default=None)

    def rows_of_kind(self, kind: int, ts: int | None = None) -> SortedRuns:
        """Return the rows of a kind. If `ts` is not None, it is the time of all rows."""
        runs, rows_before = [], 0
        for index, result in enumerate(self.results):
            for number, by_kind in enumerate(result.runs):
                texts = texts_path(self.folder, index, number)
                if kind in by_kind:
                    path = run_path(self.folder, index, number, kind)
                    run = by_kind[kind]
                    numbers = {column: numbers_path(texts, column) for column in run.number_files}
                    offsets = dict.fromkeys(run.row_offsets, rows_before)
                    runs.append(replace(run, path=path, number_files=numbers, row_offsets=offsets))
            rows_before += result.report.rows
        return SortedRuns(runs, ts)


def read_splits(rows: Rows[Report], folder: Path, executor: Executor) -> SplitRows[Report]:
    """Read all good rows to a folder.

    Raises:
        DatasetError: the source cannot be read, a column is missing, or `Rows.refuse` raises it.
    """
    folder.mkdir(exist_ok=True)
    splits = rows.source.splits()
    results = [_load(_result_path(folder, index), split) for index, split in enumerate(splits)]
    if not rows.source.files():
        executor = InProcess()  # only this process has rows in memory
    while True:
        merged = _Merge(rows)
        preceding = [merged.add(*pair) for pair in zip(splits, results, strict=True)]
        due = [index for index in sorted(merged.due) if preceding[index] is not None]
        if not due:
            break
        if not any(results):
            due = due[:1]
        executor.run(partial(_read_split, rows, folder, splits, preceding, due), len(due))
        for index in due:
            results[index] = _load(_result_path(folder, index), splits[index])
    merged.report.times = merged.times.report()
    complete = [result for result in results if result is not None]
    return SplitRows(report=merged.report, folder=folder, results=complete)


class _Merge(Generic[Report]):
    """Merges the results of splits, in order, and lists the splits to read for the first time or again.

    Attributes:
        due: the indices of the splits to read.
        report: the report on all rows so far.
        times: the merged reader of the times of these rows.
    """

    def __init__(self, rows: Rows[Report]) -> None:
        self._rows = rows
        self.report, self.times = rows.new_report(), rows.times()
        self._start = Start()
        # Whether every split so far was read with right guesses, so that the merged facts are exact.
        self._certain = True
        # The last split with rows, and whether its messages have exact numbers of rows and lines.
        self._last_with_rows, self._has_exact_messages = 0, True
        self._count = 0
        self.due: set[int] = set()

    def add(self, split: Split, result: SplitResult[Report] | None) -> PrecedingRows | None:
        """Add the next split and return the facts about the rows before it; None if it cannot be read yet.

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
        report, times = self.report, self.times
        before = PrecedingRows(
            start=replace(self._start, begin=max(split.begin, self._start.begin)),
            rows=report.rows_read,
            latest=report.latest,
            recognition=copy(times.recognition),
        )
        if result is None:
            self._certain = False
            self.due.add(index)
            self._start = replace(self._start, begin=0)
            return before
        exact_messages = result.has_reported_messages(report, times)
        if (
            not report.descents
            and report.descends_to(result.report)
            and not self._has_exact_messages
        ):
            self.due.add(self._last_with_rows)
        if not (
            result.is_valid_after(before, exact_messages=exact_messages)
            and self._rows.is_valid_after(result, before)
        ):
            self._certain = False
            self.due.add(index)
        elif self._certain and result.error:
            raise DatasetError(result.error)
        guess = result.before.start
        if result.report.last_place:
            self._last_with_rows = index
            self._has_exact_messages = (guess.row, guess.line) == (
                before.start.row,
                before.start.line,
            )
        report.merge(result.report)
        times.merge(result.times)
        if self._certain:
            self._rows.refuse(report)
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
    """Read the split `due[task]`, and write its rows, texts and result."""
    index = due[task]
    before, path = preceding[index], _result_path(folder, index)
    assert before is not None, "its start is known"
    path.unlink(missing_ok=True)
    times = rows.times()
    if before.recognition is not None:
        times.recognition = copy(before.recognition)
    result = SplitResult(
        split=splits[index], before=before, report=rows.new_report(before.latest), times=times
    )
    writer = SplitWriter(folder, index)
    report_bytes = partial(report_progress, folder / f"{index}.done")
    try:
        for block in _blocks(rows, result, report_bytes, is_first=index == 0):
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
    rows: Rows[Report],
    result: SplitResult[Report],
    report_bytes: Callable[[int], None],
    *,
    is_first: bool,
) -> "Iterator[Mapping[str, Column | pa.Array]]":
    """Yield the good rows of a split, and record the other rows in the result."""
    parser, report = rows.parser(result), result.report
    for part in rows.source.parts(result.split, result.before.start, report_bytes):
        chosen = parser.columns(part)
        result.head, result.rows, result.lines = part.head, 0, 0
        for chunk in part.chunks(chosen):
            report.empty_lines += chunk.empty_lines
            report.skipped_lines += chunk.header_lines
            block = parser.rows(part, chunk)
            result.rows += chunk.batch.num_rows + len(chunk.bad) + bool(chunk.header_lines)
            result.lines += _count_lines(chunk)
            if is_first:
                rows.refuse(report)
            if len(block["ts"]):
                yield block
        result.end = part.end()


def _count_lines(chunk: Chunk) -> int:
    bad = sum(1 + record.further for record in chunk.bad)
    lines: int = chunk.batch.num_rows + int(chunk.further.sum()) + bad
    return lines + chunk.empty_lines + chunk.header_lines


def _load(path: Path, split: Split) -> SplitResult[Any] | None:
    """Return the stored result of a split; None if the split must be read."""
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
