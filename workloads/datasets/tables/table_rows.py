"""Reads the rows of a table in splits, and checks and numbers them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.arrow import Column
from streamlab.workloads.datasets.dictionary import Numbering
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import Executor
from streamlab.workloads.datasets.tables.derived_texts import DerivedTexts
from streamlab.workloads.datasets.tables.lateness import ERROR, KEEP, Lateness
from streamlab.workloads.datasets.tables.required_columns import (
    KEY,
    ChosenColumns,
    RequiredColumns,
    choose,
)
from streamlab.workloads.datasets.tables.source import Part, Source
from streamlab.workloads.datasets.tables.split_reader import (
    PrecedingRows,
    SplitResult,
    SplitRows,
    read_splits,
)
from streamlab.workloads.datasets.tables.table import LATE, ROW, Table
from streamlab.workloads.datasets.tables.table_reader import KEYS, ChunkReader
from streamlab.workloads.datasets.tables.table_report import TableReport
from streamlab.workloads.datasets.text.records import Chunk
from streamlab.workloads.datasets.times import ColumnTimes, TimeReader
from streamlab.workloads.datasets.times.reader import time_format_remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Implements `split_reader.Rows` for a table that a program reads."""

    table: Table
    required: RequiredColumns

    @property
    def source(self) -> Source:
        return self.table.source

    def new_report(self, latest: int | None = None) -> TableReport:
        table = self.table
        lateness = Lateness(
            bound=table.max_lateness(), keeps_late_rows=table.late == KEEP, latest=latest
        )
        return TableReport(row_counts=[0] * len(self.required.kinds), lateness=lateness)

    def times(self) -> TimeReader:
        table = self.table
        return TimeReader(
            table.time_format, zone=table.zone, unit=table.unit, remedy=time_format_remedy
        )

    def parser(self, result: SplitResult[TableReport]) -> "_Parser":
        return _Parser(rows_of=self, result=result, times=ColumnTimes(result.times))

    def is_valid_after(self, result: SplitResult[TableReport], before: PrecedingRows) -> bool:
        table, guess, columns = self.table, result.before, self.table.roles().values()
        if ROW in columns and guess.rows != before.rows:
            return False
        if guess.latest is not None and (before.latest is None or guess.latest > before.latest):
            return False  # Lateness was measured from a time that does not exist.
        if (table.out_of_order is not None or LATE in columns) and guess.latest != before.latest:
            earliest = result.report.lateness.earliest
            latest = max(ts for ts in (guess.latest, before.latest) if ts is not None)
            return earliest is None or latest <= earliest
        return True

    def refuse(self, report: TableReport) -> None:
        if not report.rows and report.bad > self.table.max_bad:
            raise DatasetError(report.describe_all_bad())

    def check(self, report: TableReport) -> None:
        """Add the facts about lateness to the report; raise a `DatasetError` if too many rows are bad or late."""
        table, lateness = self.table, report.lateness
        report.times |= lateness.facts(table.out_of_order)
        if lateness.rows and table.late == ERROR:
            raise DatasetError(
                f"{lateness.examples[0]}; {lateness.rows:,} of {lateness.rows + report.rows:,} rows are later than "
                f"out_of_order={table.out_of_order!r}, at most by {lateness.largest:,} {table.unit}; give a longer "
                'out_of_order, or leave late rows out with late="drop" (--late drop)'
            )
        if report.bad > table.max_bad:
            total = f"; {report.bad:,} of {report.bad + report.rows:,} rows are bad"
            raise DatasetError(
                f"{report.bad_lines[0]}{total if report.bad > 1 else ''}; {report.excess()} "
                f"(max_bad={report.bad})"
            )
        if not report.rows and report.bad:
            raise DatasetError(report.describe_all_bad())


@dataclass(slots=True, kw_only=True)
class _Parser:
    """Implements `split_reader.Parser` for a split of a table."""

    rows_of: _Rows
    result: SplitResult[TableReport]
    times: ColumnTimes
    derived: dict[str, DerivedTexts] = field(default_factory=dict)
    chosen: ChosenColumns | None = None

    def columns(self, part: Part) -> Sequence[int]:
        self.chosen = choose(self.rows_of.table, self.rows_of.required, part.names, part.place)
        return list(self.chosen.index.values()) or [0]

    def rows(self, part: Part, chunk: Chunk) -> "Mapping[str, Column | pa.Array]":
        result, chosen = self.result, self.chosen
        assert chosen is not None, "columns come before rows"
        columns = ChunkReader(
            self.rows_of.table,
            self.rows_of.required,
            chosen,
            chunk,
            part,
            result.report,
            self.times,
            self.derived,
            result.before.rows,
        ).columns()
        for name, column in columns.items():
            if isinstance(column, pa.Array):
                place = f"{part.place}: column {chosen.names.get(name, name)}"
                result.texts.setdefault(name, place)
        return columns


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """The rows of a table on disk.

    Attributes:
        table: the table.
        required: the columns that the program requires.
        rows: the rows.
    """

    table: Table
    required: RequiredColumns
    rows: SplitRows[TableReport]

    @property
    def report(self) -> TableReport:
        """The report on reading the table."""
        return self.rows.report

    def number(self, numberings: dict[str, Numbering]) -> None:
        """Number all texts and add the dictionaries to `numberings`.

        Raises:
            DatasetError: a field's type cannot number all of its texts.
        """
        columns = self.rows.text_columns()
        dtypes = {f".{name}": dtype for name, dtype in self.required.fields.items()}
        dtypes |= {f".{name}": dtype for name, dtype in self.required.lists.items()}
        self.rows.number({name: self._numbering(name, numberings) for name in columns}, dtypes)

    def _numbering(self, column: str, numberings: dict[str, Numbering]) -> Numbering:
        """Return the dictionary of a column, and add it to `numberings`; fields of a `Table.shared` group share one."""
        name = column.removeprefix(".")
        dictionary = KEYS if column == KEY else name
        group = next(
            (fields for fields in self.table.shared if dictionary in fields), (dictionary,)
        )
        shared = [numberings[field] for field in group if field in numberings]
        new = Numbering(() if column == KEY else self.table.first_texts.get(name, ()))
        return numberings.setdefault(dictionary, shared[0] if shared else new)


def read(table: Table, required: RequiredColumns, folder: Path, executor: Executor) -> TableRows:
    """Read all good rows to a folder: `ts`, `key` and the fields, of each kind. A table may have no rows.

    Some programs do not declare the fields of each kind. For them, if only some rows of a kind lack a field, the table
    is read again, and these rows are bad.

    Raises:
        DatasetError: the source cannot be read, a column is missing, or all or too many rows are bad.
    """
    rows = _read(table, required, folder, executor)
    report = rows.report
    partial_fields = report.partial_fields(required)
    if not partial_fields:
        return rows
    refused = {
        (kind, name): count
        for (kind, name), count in partial_fields.items()
        if name not in table.skip_missing
    }
    # Here a row that lacks several fields counts several times. The second reading counts it once.
    if report.bad + max(refused.values(), default=0) > table.max_bad:
        kind, name = next(iter(refused or partial_fields))
        raise DatasetError(
            f"{report.first_empty[kind, name]} is empty, as in {partial_fields[kind, name]:,} of "
            f"{report.row_counts[kind]:,} rows of kind {required.kinds[kind]}; all rows of a "
            "kind must have a field, or none; mend the file, or leave such rows out with --max-bad "
            f"{report.bad + sum(refused.values())} or --skip-missing {name}, or fill them with "
            f"--fill {name}=..."
        )
    kind_fields = tuple(
        frozenset(report.present_fields(kind, required)) for kind in range(len(required.kinds))
    )
    exact = replace(required, kind_fields=kind_fields, is_exact=True)
    return _read(table, exact, folder.with_name(f"{folder.name}-again"), executor)


def _read(table: Table, required: RequiredColumns, folder: Path, executor: Executor) -> TableRows:
    """Read all good rows to a folder once, and check the report."""
    rows = _Rows(table=table, required=required)
    on_disk = read_splits(rows, folder, executor)
    rows.check(on_disk.report)
    return TableRows(table=table, required=required, rows=on_disk)
