"""Declares import kinds: the format of their files, their columns, and the dataset that they become.

A kind's form splits files into parts and chunks of cells, like any table
(`streamlab.workloads.datasets.tables`). Its transform makes columns of a chunk. Its dictionaries,
derived columns and streams define the dataset of these columns.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.cells import Transform
from streamlab.workloads.datasets.imports.raw_files import At, check_readable
from streamlab.workloads.datasets.remedy import workload_of_input
from streamlab.workloads.datasets.split import check_streams
from streamlab.workloads.datasets.stream_table import StreamTable
from streamlab.workloads.datasets.tables.table import MOST_STREAMS, Part
from streamlab.workloads.datasets.times import TimeReader, check_form
from streamlab.workloads.registry import workload

if TYPE_CHECKING:
    import pyarrow as pa

Blocks = Callable[[], Iterator["pa.RecordBatch"]]
"""Yields all blocks of rows, at each call."""

Derive = Callable[["pa.RecordBatch"], "pa.RecordBatch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """An option of one kind, on the command line `--<name>`.

    Attributes:
        name: without the dashes.
        default: the default; a value must have the same type.
        help: one line for people.
        file: whether it names a file, which must exist; "" for none.
        valid: whether a value is in range; None: all are.
        expected: the valid values in words.
    """

    name: str
    default: str | int | float | bool
    help: str
    file: bool = False
    valid: Callable[[Any], bool] | None = None
    expected: str = ""

    @classmethod
    def choice(cls, *, choices: Sequence[str], **others: Any) -> "Setting":
        """Return a setting with one of several values."""
        expected = " or ".join(choices) if len(choices) < 3 else f"one of {', '.join(choices)}"
        return cls(valid=choices.__contains__, expected=expected, **others)


TIME_SETTING = Setting(
    name="time",
    default="auto",
    help="Format of times: iso; s, ms, us or ns since 1970; hhmmss; or a pattern such as "
    "'%d/%m/%Y %H:%M'. auto recognizes all but patterns and hhmmss, see `lab data import table`.",
)
"""For the `settings` of kinds whose files have times in several formats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """The options of an import.

    Attributes:
        files: raw files, read in this order.
        streams: number of physical streams to split into.
        max_bad: number of bad rows to leave out; one more fails.
        sort: sort by time instead of refusing unsorted files.
        source: where the data comes from, for people; None: not stated.
        licence: of the data; None: not stated.
        columns: for CSV, the column of each role (`ImportKind.roles`).
        settings: the kind's own options, by name; complete after `ImportKind.complete`.
        times: reads event times; `ImportKind.complete` sets it according to the option `time`.
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


class Form(Protocol):
    """The format of raw files."""

    def columns(self, options: ImportOptions) -> Mapping[str, str]:
        """Return the column of each role; raises `DatasetError` if one is missing."""

    def parts(self, path: Path, options: ImportOptions, at: At) -> Iterator[Part]:
        """Yield the parts of a raw file; call `at` with the number of bytes read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportKind:
    """One kind of raw file.

    One task reads and parses, in order of the files. Then each block of rows is derived, and each
    stream written, by its own task. Memory is bounded by a block and the dictionaries.

    Attributes:
        name: on the command line, e.g. `access-log`.
        workload: the workload with this input (`Workload.input`).
        help: one line for people.
        check: refuses invalid options before reading; raises `DatasetError`.
        form: the format of its files.
        transform: `transform(options)` returns a function from the cells of a chunk to `ts` and the columns of
            `columns`; called once per import, before the first chunk.
        columns: columns of a row after `ts`, as (name, Arrow type name).
        prepare: `prepare(blocks, options)` returns a function that derives further columns of a block, or
            removes rows, from `row`, `ts` and the columns of `columns`. `blocks()` yields all
            blocks, for functions that depend on them. It is pickled. None, or a result None: derives nothing.
        dictionaries: the dictionaries to write next to the dataset, and the column of each: of texts, or of
            lists of texts, which ids replace by first appearance.
        keys: the dictionary whose ids are the keys, or a function from complete options to the number of
            keys; None: one key.
        streams: `streams(options, entries)` returns the streams, in order of ties; `entries` is
            the number of texts in each dictionary.
        kinds: of the dataset's events.
        roles: what `--columns` may name, if the kind reads CSV.
        settings: its own options.
        time: the format of times if `settings` has no `time`.
        unit: the unit of event time since 1970; None: event time is not real time.
        sorts: whether its files may be in any order, and are always sorted.
        invents: kinds whose events are in no line of the files: the import invents them.
    """

    name: str
    workload: str
    help: str
    form: Form
    transform: Callable[[ImportOptions], Transform]
    columns: tuple[tuple[str, str], ...]
    kinds: tuple[str, ...]
    streams: Callable[[ImportOptions, Mapping[str, int]], tuple[StreamTable, ...]]
    dictionaries: Mapping[str, str] = field(default_factory=dict)
    keys: str | Callable[[ImportOptions], int] | None = None
    check: Callable[[ImportOptions], None] | None = None
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
        check_streams(workload(workload_of_input(self.workload)).program, options.streams)
        if options.max_bad < 0:
            raise DatasetError(f"--max-bad is {options.max_bad}; give 0 or more")
        unknown = sorted(set(options.columns) - set(self.roles))
        if unknown:
            known = f"it takes {', '.join(self.roles)}" if self.roles else "it takes none"
            raise DatasetError(f"import {self.name} has no column {', '.join(unknown)}; {known}")
        defaults = {setting.name: setting.default for setting in self.settings}
        unknown = sorted(set(options.settings) - set(defaults))
        if unknown:
            known = f"it has {', '.join(defaults)}" if defaults else "it has none"
            raise DatasetError(f"import {self.name} has no option {', '.join(unknown)}; {known}")
        for setting in self.settings:
            value = options.settings.get(setting.name, setting.default)
            if setting.valid is not None and not setting.valid(value):
                raise DatasetError(f"--{setting.name} is {value!r}; give {setting.expected}")
        file_settings = {s.name for s in self.settings if s.file}
        settings = {
            name: str(Path(value).absolute()) if name in file_settings and value else value
            for name, value in {**defaults, **options.settings}.items()
        }
        complete = replace(options, settings=settings)
        self.form.columns(complete)
        if self.check is not None:
            self.check(complete)
        files = tuple(path.absolute() for path in options.files)
        for path in (*files, *(Path(settings[name]) for name in file_settings if settings[name])):
            check_readable(path)
        form = str(settings.get(TIME_SETTING.name, self.time))
        if form != TIME_SETTING.default:
            check_form(form, f"--{TIME_SETTING.name}")
        times = TimeReader(
            None if form == TIME_SETTING.default else form, unit=self.unit or TimeReader().unit
        )
        sort = options.sort or self.sorts
        return replace(complete, files=files, sort=sort, times=times)
