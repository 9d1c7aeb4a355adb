"""What an import kind is: how its files are read, and what dataset comes out of its rows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.raw import At, check_readable
from workloads.datasets.remedy import workload_taking
from workloads.datasets.split import check_streams
from workloads.datasets.times import TimeReader, check_form
from workloads.model import Alphabet, Block, ColumnType
from workloads.registry import workload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

MOST_STREAMS = 1024
"""As many as generators make: each is a file, and a thread or a task in engines."""

Row = tuple[int, *tuple[Any, ...]]
"""(ts, further columns as `ImportKind.columns` says)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRows:
    """Lines of one text that were parsed together.

    Attributes:
        place: how messages call the text.
        read: how many lines there were.
        lines: int64, the numbers of the lines that are rows, from 1.
        batch: `ts` and the columns of `ImportKind.columns` of these.
        bad: the numbers of the lines that are none, and what is wrong with them.
    """

    place: str
    read: int
    lines: "npt.NDArray[np.int64]"
    batch: "pa.RecordBatch"
    bad: tuple[tuple[int, str], ...] = ()


Blocks = Callable[[], Iterator["pa.RecordBatch"]]
"""Yields all blocks of rows, each time that it is called."""

Derive = Callable[["pa.RecordBatch"], "pa.RecordBatch"]


class BadRowError(Exception):
    """Fields are not a row; the message says what is wrong with them."""


class Fields(Protocol):
    """What a reader yields: a line, a CSV record, ... not yet checked."""

    @property
    def further(self) -> int:
        """How many lines it has after its first."""

    def shown(self) -> str:
        """Return its beginning, for messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """An option of one kind, on the command line `--<name>`.

    Attributes:
        name: as typed, without the dashes.
        default: its type is that of the value.
        help: one line for people.
        file: whether it names a file, which must be there; "" when none is given.
    """

    name: str
    default: str | int | float | bool
    help: str
    file: bool = False


TIME_SETTING = Setting(
    name="time",
    default="auto",
    help="How times are written: iso; s, ms, us or ns since 1970; hhmmss; or a pattern such as "
    "'%d/%m/%Y %H:%M'. auto recognizes all but patterns and hhmmss, see `lab data import table`.",
)
"""For the `settings` of kinds whose files have times in several forms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What a person may choose.

    Attributes:
        files: raw files, read one after the other.
        streams: number of physical streams to split into.
        max_bad: so many bad rows are left out; one more fails.
        sort: sort by time instead of refusing files that are not sorted.
        source: where the data comes from, in the person's words; None: not stated.
        licence: of the data, likewise.
        columns: for CSV, the column of each role (`ImportKind.roles`).
        settings: the kind's own options, by name; complete after `ImportKind.complete`.
        times: reads event times; as the kind's option `time` says after `ImportKind.complete`.
    """

    files: tuple[Path, ...]
    streams: int = 1
    max_bad: int = 0
    sort: bool = False
    source: str | None = None
    licence: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    times: TimeReader = field(default_factory=TimeReader)

    def time(self, text: str) -> int:
        """Return the event time of a text.

        Raises:
            BadRowError: it is no time.
        """
        found = self.times.read(text)
        if isinstance(found, str):
            raise BadRowError(found)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTable:
    """One stream to be written.

    Attributes:
        name: of the stream.
        kinds: kind indices in it.
        dtypes: columns to write, by name.
        blocks: makes the stream's blocks, with the columns of `dtypes` and perhaps others, from
            blocks of all rows in order of time (ties: of the files).
    """

    name: str
    kinds: tuple[int, ...]
    dtypes: Mapping[str, ColumnType]
    blocks: Callable[[Iterator[Block]], Iterator[Block]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dictionary:
    """A dictionary to be written beside the dataset: what the ids stand for.

    Attributes:
        name: of the file, without suffix, and of the column of ids that takes the texts' place.
        column: a column of texts, or of lists of texts, of the rows; ids count its values by first
            appearance.
    """

    name: str
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportKind:
    """One kind of raw file.

    Reading and parsing run in one task, in order of the files; blocks of rows are derived and
    streams are written by a task each. Memory is that of a block, and of the dictionaries.

    Attributes:
        name: as typed, e.g. `access-log`.
        workload: whose input it becomes (`Workload.input`).
        help: one line for people.
        check: refuses invalid options before anything is read; raises `DatasetError`.
        read: `read(path, options, at)` yields (place, fields) of everything in a raw file, in
            order; `place` is for messages, `at` is told the bytes read. `lines.read_lines` and
            `csv_rows.read_csv` are such functions.
        parse: `parse(fields, options)`: a row; None for what is no row, such as a header. Raises
            `BadRowError`.
        read_parsed: `read_parsed(path, options, at)` yields rows many at a time, in place of `read`
            and `parse`: for files of so many lines that a call for each takes too long.
        columns: columns of a row after `ts`, as (name, Arrow type name).
        prepare: `prepare(blocks, options)` returns what derives further columns of a block, or
            leaves rows out, from `row`, `ts` and the columns of `columns`; `blocks()` yields all
            blocks, where that depends on them. It is pickled. Either None: nothing to derive.
        dictionaries: the columns to be encoded.
        keys: which dictionary's ids are the keys, or how many there are for complete options; None:
            there is one key.
        streams: `streams(options, entries)` returns the streams, in order of ties; `entries` is
            the number of texts in each dictionary.
        alphabet: kinds and keys for a number of keys.
        roles: what `--columns` may name, if the kind reads CSV.
        settings: its own options.
        time: the form of times where `settings` has no `time`.
        unit: the unit of event time since 1970; None: event time is not of a clock.
        sorts: whether its files are expected in any order, and always sorted.
        invents: kinds whose events are in no line of the files: the import invents them.
    """

    name: str
    workload: str
    help: str
    check: Callable[[ImportOptions], None] | None = None
    read: Callable[[Path, ImportOptions, At], Iterator[tuple[str, Fields]]] | None = None
    parse: Callable[[Any, ImportOptions], Row | None] | None = None
    read_parsed: Callable[[Path, ImportOptions, At], Iterator[ParsedRows]] | None = None
    columns: tuple[tuple[str, str], ...]
    dictionaries: tuple[Dictionary, ...]
    keys: str | Callable[[ImportOptions], int] | None
    streams: Callable[[ImportOptions, Mapping[str, int]], tuple[StreamTable, ...]]
    alphabet: Callable[[int], Alphabet]
    prepare: Callable[[Blocks, ImportOptions], Derive | None] | None = None
    roles: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()
    time: str = "iso"
    unit: str | None = "ms"
    sorts: bool = False
    invents: tuple[str, ...] = ()

    def complete(self, options: ImportOptions) -> ImportOptions:
        """Return checked options, with absolute paths and every setting of the kind.

        Raises:
            DatasetError: no file, one that cannot be read, a number out of range, or a role or a
                setting that the kind does not have.
        """
        if not options.files:
            raise DatasetError("no file given; name at least one with --file")
        if not 1 <= options.streams <= MOST_STREAMS:
            raise DatasetError(f"--streams is {options.streams}; give 1 to {MOST_STREAMS}")
        check_streams(workload(workload_taking(self.workload)).program, options.streams)
        if options.max_bad < 0:
            raise DatasetError(f"--max-bad is {options.max_bad}; give 0 or more")
        unknown = sorted(set(options.columns) - set(self.roles))
        if unknown:
            known = f"it takes {', '.join(self.roles)}" if self.roles else "it takes none"
            raise DatasetError(f"import {self.name} has no column {', '.join(unknown)}; {known}")
        own = {setting.name: setting.default for setting in self.settings}
        unknown = sorted(set(options.settings) - set(own))
        if unknown:
            known = f"it has {', '.join(own)}" if own else "it has none"
            raise DatasetError(f"import {self.name} has no option {', '.join(unknown)}; {known}")
        named = {s.name for s in self.settings if s.file}
        settings = {
            name: str(Path(value).absolute()) if name in named and value else value
            for name, value in {**own, **options.settings}.items()
        }
        if self.check is not None:
            self.check(replace(options, settings=settings))
        files = tuple(path.absolute() for path in options.files)
        for path in (*files, *(Path(settings[name]) for name in named if settings[name])):
            check_readable(path)
        form = str(settings.get(TIME_SETTING.name, self.time))
        if form != TIME_SETTING.default:
            check_form(form, f"--{TIME_SETTING.name}")
        times = TimeReader(None if form == TIME_SETTING.default else form)
        sort = options.sort or self.sorts
        return replace(options, files=files, settings=settings, sort=sort, times=times)
