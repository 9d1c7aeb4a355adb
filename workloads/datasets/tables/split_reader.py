"""Reads the splits of a table in parallel, and numbers their texts.

A split is read with what is known, or guessed, of the rows before it (`Before`): where its first record begins, the
form of times, the latest time, and the numbers of its first row and line. When all splits are read, the truth is
known. A split is read again if the guess was wrong and that matters: rows and messages are those of a reading from
the first row to the last. The first split is read alone, because it has the head of the file and shows the form of
times.

A split leaves files in a folder: runs of rows by kind, the distinct texts of each run, and its `Found`. A later try
continues with the files that it finds.
"""

import pickle
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.arrow import Column
from streamlab.workloads.datasets.dictionary import Numbering
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import Executor, InProcess
from streamlab.workloads.datasets.progress import report
from streamlab.workloads.datasets.sorted_runs import Run, SortedRuns
from streamlab.workloads.datasets.tables.derived_texts import DerivedTexts
from streamlab.workloads.datasets.tables.lateness import ERROR, KEEP, Lateness
from streamlab.workloads.datasets.tables.required_columns import KEY, RequiredColumns, choose
from streamlab.workloads.datasets.tables.source import Head, Split, Start
from streamlab.workloads.datasets.tables.split_writer import (
    SplitWriter,
    numbers_path,
    run_path,
    texts_path,
)
from streamlab.workloads.datasets.tables.table import LATE, ROW, Table
from streamlab.workloads.datasets.tables.table_reader import KEYS, BlockReader, Reading
from streamlab.workloads.datasets.text.records import Chunk
from streamlab.workloads.datasets.text.report import MOST_NAMED
from streamlab.workloads.datasets.times import ColumnTimes, TimeReader
from streamlab.workloads.datasets.times.reader import time_format_remedy
from streamlab.workloads.datasets.times.recognition import AS_IS, Recognition

FORMAT = 1
"""Version of the files that a split leaves; a later try reads splits of other versions again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What the rows before a split mean to it.

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


@dataclass(slots=True, kw_only=True)
class Found:
    """What the reading of a split found.

    Attributes:
        split: what was read.
        before: what the rows before were taken to mean.
        reading: of its rows alone.
        times: how times were read.
        head: of its text.
        end: the place after its last record.
        rows: number of rows in its text, also bad ones and a header.
        lines: number of lines in its text.
        runs: each run, by kind; their paths are not valid any more.
        texts: the columns of texts, and where each was first read.
        error: why it cannot be read; "": it was read.
    """

    split: Split
    before: Before
    reading: Reading
    times: TimeReader
    head: Head | None = None
    end: int = 0
    rows: int = 0
    lines: int = 0
    runs: list[dict[int, Run]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    error: str = ""

    def holds(self, before: Before, *, words: bool, table: Table) -> bool:
        """Return whether another reading, with the true `before`, would find the same; with `words` the same words."""
        mine, roles = self.before, table.roles().values()
        start = replace(before.start, row=mine.start.row, line=mine.start.line)
        if mine.start != (before.start if words or self.error else start):
            return False
        if ROW in roles and mine.rows != before.rows:
            return False
        if mine.latest is not None and (before.latest is None or mine.latest > before.latest):
            return False  # Lateness was measured from a time that does not exist.
        if (table.out_of_order is not None or LATE in roles) and mine.latest != before.latest:
            earliest = self.reading.lateness.earliest
            latest = max(ts for ts in (mine.latest, before.latest) if ts is not None)
            if earliest is not None and latest > earliest:
                return False
        form = _form(before.recognition)
        if form == _form(mine.recognition) == AS_IS and not self.reading.bad:
            # If the range of numbers has only grown, all are in it.
            assert before.recognition is not None and mine.recognition is not None, (
                "both have a form"
            )
            return before.recognition.includes(mine.recognition)
        return vars_of(before.recognition) == vars_of(mine.recognition)

    def has_words(self, merged: Reading, times: TimeReader) -> bool:
        """Return whether its messages would be in the report, after those of the splits before."""
        mine = self.reading
        return bool(
            (mine.bad and merged.bad < MOST_NAMED)
            or (mine.of_lines and merged.of_lines < MOST_NAMED)
            or (mine.lateness.rows and merged.lateness.rows < MOST_NAMED)
            or (not merged.descents and (mine.descents or merged.descends_to(mine)))
            or (self.times.repeated and not times.repeated)
            or mine.first_empty.keys() - merged.first_empty.keys()
        )


def vars_of(recognition: Recognition | None) -> dict[str, Any] | None:
    """Return the state of a recognition that has decided; None of others."""
    return None if recognition is None or recognition.form is None else vars(recognition)


def _form(recognition: Recognition | None) -> str | None:
    return None if recognition is None else recognition.form


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """The rows of a table on disk.

    Attributes:
        table: what was read.
        required: the columns that the program requires.
        reading: the findings.
        folder: with the files.
        found: of each split.
    """

    table: Table
    required: RequiredColumns
    reading: Reading
    folder: Path
    found: Sequence[Found]

    def number(self, numberings: dict[str, Numbering]) -> None:
        """Number all texts in order of appearance, by run; write the numbers of each run's texts.

        Raises:
            DatasetError: more texts than a field can number.
        """
        dtypes = {**self.required.fields, **self.required.lists}
        for index, found in enumerate(self.found):
            chosen = {column: self._numbering(column, numberings) for column in found.texts}
            for number, by_kind in enumerate(found.runs):
                path = texts_path(self.folder, index, number)
                if not any(run.numbers for run in by_kind.values()):
                    continue
                for column, texts in pickle.loads(path.read_bytes()).items():
                    ids, dtype = chosen[column].add(texts), np.dtype(np.int32)
                    if column != KEY:
                        dtype = dtypes[column.removeprefix(".")]
                    if len(chosen[column]) - 1 > np.iinfo(dtype).max:
                        raise DatasetError(
                            f"{found.texts[column]}: {len(chosen[column]):,} different texts are more than "
                            f"field {column.removeprefix('.')} of type {dtype} can number"
                        )
                    np.save(numbers_path(path, column), ids.astype(dtype))

    def _numbering(self, column: str, numberings: dict[str, Numbering]) -> Numbering:
        """Return the dictionary of a column, which may share one with other fields."""
        name = column.removeprefix(".")
        dictionary = KEYS if column == KEY else name
        group = next((each for each in self.table.shared if dictionary in each), (dictionary,))
        known = [numberings[each] for each in group if each in numberings]
        first = Numbering(() if column == KEY else self.table.first_texts.get(name, ()))
        return numberings.setdefault(dictionary, known[0] if known else first)

    def earliest(self) -> int | None:
        """Return the first time; None without rows."""
        runs = (run for found in self.found for by_kind in found.runs for run in by_kind.values())
        return min((int(run.sample[0]) for run in runs), default=None)

    def of_kind(self, kind: int, ts: int | None = None) -> SortedRuns:
        """Return the rows of a kind, all of time `ts` if given."""
        runs = []
        for index, found in enumerate(self.found):
            for number, by_kind in enumerate(found.runs):
                texts = texts_path(self.folder, index, number)
                if kind in by_kind:
                    path = run_path(self.folder, index, number, kind)
                    run = by_kind[kind]
                    numbers = {column: numbers_path(texts, column) for column in run.numbers}
                    runs.append(replace(run, path=path, numbers=numbers))
        return SortedRuns(runs, ts)


def read(table: Table, required: RequiredColumns, folder: Path, on: Executor) -> TableRows:
    """Read all good rows to a folder: `ts`, `key` and the fields, of each kind.

    If the program does not declare the fields of a kind, and only some of its rows lack one, the table is
    read again, with these rows as bad ones.

    Raises:
        DatasetError: the source cannot be read, a column is missing, too many rows are bad, or all are. No
            rows are no error.
    """
    rows = _read(table, required, folder, on)
    reading = rows.reading
    partial_fields = reading.partial_fields(required)
    if not partial_fields:
        return rows
    refused = {at: n for at, n in partial_fields.items() if at[1] not in table.skip_missing}
    # A row may lack several fields: this counts it several times, the second reading does not.
    if reading.bad + max(refused.values(), default=0) > table.max_bad:
        first = next(iter(refused or partial_fields))
        raise DatasetError(
            f"{reading.first_empty[first]} is empty, as in {partial_fields[first]:,} of "
            f"{reading.of_kind[first[0]]:,} rows of kind {required.kinds[first[0]]}; all rows of a "
            "kind must have a field, or none; mend the file, or leave such rows out with --max-bad "
            f"{reading.bad + sum(refused.values())} or --skip-missing {first[1]}, or fill them with "
            f"--fill {first[1]}=..."
        )
    of_kind = tuple(
        frozenset(reading.present_fields(kind, required)) for kind in range(len(required.kinds))
    )
    certain = replace(required, of_kind=of_kind, certain=True)
    return _read(table, certain, folder.with_name(f"{folder.name}-again"), on)


def _read(table: Table, required: RequiredColumns, folder: Path, on: Executor) -> TableRows:
    folder.mkdir(exist_ok=True)
    splits = table.source.splits()
    found = [_load(_found_path(folder, index), split) for index, split in enumerate(splits)]
    if not table.source.files():
        on = InProcess()  # rows in memory are here alone
    while True:
        merged = _Merged(table, required)
        befores = [merged.add(*each) for each in zip(splits, found, strict=True)]
        due = [index for index in sorted(merged.due) if befores[index] is not None]
        if not due:
            break
        if not any(found):
            due = due[:1]
        task = partial(_read_split, table, required, folder, splits, befores, due)
        on.run(task, len(due))
        for index in due:
            found[index] = _load(_found_path(folder, index), splits[index])
    reading = merged.checked()
    return TableRows(
        table=table,
        required=required,
        reading=reading,
        folder=folder,
        found=[each for each in found if each is not None],
    )


class _Merged:
    """Merges what splits found, in order, and finds those to read, or to read again.

    Attributes:
        due: the indices of these splits.
    """

    def __init__(self, table: Table, required: RequiredColumns) -> None:
        self._table, self._required = table, required
        self._reading, self._times = _empty(table, required, None), _reader(table, None)
        self._start = Start()
        self._certain = True
        self._last_with_rows, self._exact_words = 0, True
        self._count = 0
        self.due: set[int] = set()

    def add(self, split: Split, found: Found | None) -> Before | None:
        """Add the next split and return what is known before it; None: it cannot be read yet.

        Raises:
            DatasetError: the split cannot be read, or all rows are bad.
        """
        index, self._count = self._count, self._count + 1
        if split.begin == 0:
            self._start = Start()
        elif self._start.head is None:
            self._certain = False
            self.due.add(index)
            return None
        reading, times = self._reading, self._times
        before = Before(
            start=replace(self._start, begin=max(split.begin, self._start.begin)),
            rows=reading.rows_read,
            latest=reading.lateness.latest,
            recognition=copy(times.recognition),
        )
        if found is None:
            self._certain = False
            self.due.add(index)
            self._start = replace(self._start, begin=0)
            return before
        words = found.has_words(reading, times)
        if not reading.descents and reading.descends_to(found.reading) and not self._exact_words:
            self.due.add(self._last_with_rows)
        if not found.holds(before, words=words, table=self._table):
            self._certain = False
            self.due.add(index)
        elif self._certain and found.error:
            raise DatasetError(found.error)
        mine = found.before.start
        if found.reading.last_place:
            self._last_with_rows = index
            self._exact_words = (mine.row, mine.line) == (before.start.row, before.start.line)
        reading.merge(found.reading)
        times.merge(found.times)
        if self._certain and not reading.rows and reading.bad > self._table.max_bad:
            raise DatasetError(reading.all_bad())
        self._start = Start(
            begin=found.end,
            row=before.start.row + found.rows,
            line=before.start.line + found.lines,
            head=found.head,
        )
        return before

    def checked(self) -> Reading:
        """Return the findings in all rows; raises `DatasetError` if too many are bad or late."""
        table, reading = self._table, self._reading
        lateness = reading.lateness
        reading.times = {**self._times.report(), **lateness.facts(table.out_of_order)}
        if lateness.rows and table.late == ERROR:
            raise DatasetError(
                f"{lateness.named[0]}; {lateness.rows:,} of {lateness.rows + reading.rows:,} rows are later than "
                f"out_of_order={table.out_of_order!r}, at most by {lateness.largest:,} {table.unit}; give a longer "
                'out_of_order, or leave late rows out with late="drop" (--late drop)'
            )
        if reading.bad > table.max_bad:
            more = f"; {reading.bad:,} of {reading.bad + reading.rows:,} rows are bad" * (
                reading.bad > 1
            )
            raise DatasetError(
                f"{reading.bad_lines[0]}{more}; {reading.excess()} (max_bad={reading.bad})"
            )
        if not reading.rows and reading.bad:
            raise DatasetError(reading.all_bad())
        return reading


def _empty(table: Table, required: RequiredColumns, latest: int | None) -> Reading:
    lateness = Lateness(bound=table.bound(), keeps=table.late == KEEP, latest=latest)
    return Reading(of_kind=[0] * len(required.kinds), lateness=lateness)


def _reader(table: Table, recognition: Recognition | None) -> TimeReader:
    reader = TimeReader(
        table.time_format, zone=table.zone, unit=table.unit, remedy=time_format_remedy
    )
    if recognition is not None:
        reader.recognition = copy(recognition)
    return reader


def _read_split(
    table: Table,
    required: RequiredColumns,
    folder: Path,
    splits: Sequence[Split],
    befores: Sequence[Before | None],
    due: Sequence[int],
    task: int,
) -> None:
    """Read a split, and write its rows, texts and findings."""
    index = due[task]
    before, path = befores[index], _found_path(folder, index)
    assert before is not None, "its start is known"
    path.unlink(missing_ok=True)
    found = Found(
        split=splits[index],
        before=before,
        reading=_empty(table, required, before.latest),
        times=_reader(table, before.recognition),
    )
    writer = SplitWriter(folder, index)
    at = partial(report, folder / f"{index}.done")
    try:
        for block in _blocks(table, required, splits[index], found, at, first=index == 0):
            writer.append(block)
        writer.finish()
        found.runs = writer.runs
    except DatasetError as error:
        found.error = str(error)
    found.times.repeated_texts.clear()
    new = path.with_suffix(".found.new")
    new.write_bytes(pickle.dumps((FORMAT, found)))
    new.replace(path)


def _blocks(
    table: Table,
    required: RequiredColumns,
    split: Split,
    found: Found,
    at: Any,
    *,
    first: bool,
) -> "Iterator[dict[str, Column | pa.Array]]":
    """Yield the good rows of a split, and record the others."""
    reading, derived = found.reading, dict[str, DerivedTexts]()
    times, before = ColumnTimes(found.times), found.before
    for part in table.source.parts(split, before.start, at):
        chosen = choose(table, required, part.names, part.place)
        found.head, found.rows, found.lines = part.head, 0, 0
        for chunk in part.chunks(list(chosen.index.values()) or [0]):
            reader = BlockReader(
                table, required, chosen, chunk, part, reading, times, derived, before.rows
            )
            block = reader.columns()
            for name, column in block.items():
                if isinstance(column, pa.Array):
                    place = f"{part.place}: column {chosen.names.get(name, name)}"
                    found.texts.setdefault(name, place)
            reading.empty_lines += chunk.empty_lines
            reading.passed_over += chunk.header_lines
            found.rows += chunk.batch.num_rows + len(chunk.bad) + bool(chunk.header_lines)
            found.lines += _lines(chunk)
            if first and not reading.rows and reading.bad > table.max_bad:
                raise DatasetError(reading.all_bad())
            if len(block["ts"]):
                yield block
        found.end = part.end()


def _lines(chunk: Chunk) -> int:
    bad = sum(1 + record.further for record in chunk.bad)
    lines: int = chunk.batch.num_rows + int(chunk.further.sum()) + bad
    return lines + chunk.empty_lines + chunk.header_lines


def _load(path: Path, split: Split) -> Found | None:
    """Return what an earlier try found in a split; None: it is to be read."""
    if not path.is_file():
        return None
    try:
        version, found = pickle.loads(path.read_bytes())
    except (AttributeError, EOFError, ImportError, TypeError, ValueError, pickle.UnpicklingError):
        return None  # another version of the lab wrote it
    known = version == FORMAT and isinstance(found, Found) and found.split == split
    return found if known else None


def _found_path(folder: Path, split: int) -> Path:
    return folder / f"{split}.found"
