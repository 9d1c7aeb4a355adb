"""Describes a dataset in the catalogue: its content, its files, and how to load it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from streamlab.json_value import JsonObject, json_number, json_object
from streamlab.workloads.model import Alphabet, Input, Stream
from streamlab.workloads.model.operators.program import arrival_tick_ns
from streamlab.workloads.model.operators.windows import END_OF_ARRIVALS, flush_end

NOT_STATED = "not stated"
"""Stands for a source or licence that the import did not name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherFile:
    """A file of a stream other than the first file.

    Attributes:
        path: absolute path.
        first_row: number of rows in earlier files.
        file_sha256: SHA-256 of the file's bytes, in hex.
    """

    path: Path
    first_row: int
    file_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetStream:
    """One physical stream on disk: Parquet files with `ts`, optionally `tag`, and payload columns.

    Attributes:
        name: unique name within the dataset.
        kinds: indices of the kinds that may occur.
        path: absolute path of the first Parquet file.
        rows: number of events.
        ts_min, ts_max: first and last event time, both 0 without events.
        columns: (name, type) of every column in the files; types are such as `int64` or `list:int32`.
        further: for a long stream, the files after the first.
        sha256: SHA-256 of the columns' content (see `stream_file`), in hex.
        heartbeats: event times of heartbeats.
        file_sha256: SHA-256 of the bytes of the first file, in hex.
        stamp: the state of the files when their content was last verified (see `integrity`); None if not verified.
        whole: for a truncated stream, the complete stream that its files hold; None for a complete stream.
    """

    name: str
    kinds: tuple[int, ...]
    path: Path
    rows: int
    ts_min: int
    ts_max: int
    columns: tuple[tuple[str, str], ...]
    sha256: str
    file_sha256: str
    heartbeats: tuple[int, ...] = ()
    stamp: str | None = field(default=None, compare=False)
    whole: "DatasetStream | None" = None
    further: tuple[FurtherFile, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths of all files, in order of rows."""
        return (self.path, *(file.path for file in self.further))


@dataclass(frozen=True, slots=True, kw_only=True)
class DictionaryFile:
    """A file of ids and their texts, next to the streams of an import.

    Attributes:
        name: name of the dictionary.
        path: absolute path.
        file_sha256: SHA-256 of the file's bytes, in hex.
    """

    name: str
    path: Path
    file_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """An immutable dataset.

    Attributes:
        id: SHA-256 of the content, in hex. Equal content has equal ids on every machine.
        workload: name of the workload that reads the dataset, or of an input that several workloads share
            (`Workload.input_name`).
        alphabet: kinds and number of keys.
        streams: in the order that breaks ties in time.
        origin: how the dataset was made: `{"generator": ..., "params": ..., "seed": ...}`, or
            `{"import": ..., "files": ...}` with counts of rows.
        source: the origin of the data, for people.
        licence: licence text of the data.
        dictionaries: the texts of an import's ids. Runs do not use them.
        until_ts: only events before this time belong to the dataset (see `time_cutoff`); None for all events. `id` and
            the files are those of the complete dataset. In a flushed dataset, `until_ts` is after all events.
    """

    id: str
    workload: str
    alphabet: Alphabet
    streams: tuple[DatasetStream, ...]
    origin: Mapping[str, object]
    source: str
    licence: str
    dictionaries: tuple[DictionaryFile, ...] = ()
    until_ts: int | None = None

    @property
    def events(self) -> int:
        """The number of events in all streams."""
        return sum(stream.rows for stream in self.streams)

    def complete(self) -> "Dataset":
        """Return the dataset as in the catalogue, without truncation."""
        streams = tuple(stream.whole or stream for stream in self.streams)
        return replace(self, streams=streams, until_ts=None)

    def flushed(self, program: object) -> "Dataset":
        """Return the dataset with the `until_ts` that the program requires to close its windows (`flush_end`).

        A truncated dataset stays as it is: its input continues after the cut, so no window is flushed. For a program
        with arrival times, the end is later than any arrival.
        """
        if arrival_tick_ns(program) is not None:
            return replace(self, until_ts=END_OF_ARRIVALS)
        if self.until_ts is not None:
            return self
        last_times = (stream.ts_max for stream in self.streams if stream.rows)
        return replace(self, until_ts=flush_end(program, last_times))

    def load(self, fields: Collection[str] | None = None) -> Input:
        """Read times, tags and `fields` (None: all columns) of all streams into memory.

        Raises:
            DatasetError: a file is missing or damaged.
        """
        from streamlab.workloads.datasets.stream_reader import load_stream  # it imports this module

        streams: tuple[Stream, ...] = tuple(load_stream(stream, fields) for stream in self.streams)
        return Input(alphabet=self.alphabet, streams=streams, until_ts=self.until_ts)


def invented_words(origin: Mapping[str, object], events: int) -> str:
    """Return a sentence on the events that an import invented; empty if it invented none."""
    invented = origin.get("invented")
    if not isinstance(invented, Mapping) or not invented:
        return ""
    counts = ", ".join(f"{count:,} of kind {kind}" for kind, count in invented.items())
    total = sum(invented.values())
    return (
        f"{total / max(1, events):.1%} of {events:,} events were invented by the import ({counts})"
    )


def left_out_words(origin: Mapping[str, object]) -> str:
    """Return a sentence on the bad rows and rows without a value that an import left out; empty without such rows."""
    bad, skipped = (
        json_number(origin.get("bad_rows", 0)),
        json_object(origin.get("skipped_by_field")),
    )
    parts = [f"{bad:,} bad row{'s' * (bad > 1)}"] if bad else []
    for name, count in skipped.items():
        parts += [f"{count:,} row{'s' * (count != 1)} without {name}"] if count else []
    return f"the import left out {' and '.join(parts)}" if parts else ""


def late_rows(origin: Mapping[str, object]) -> int | None:
    """Return the number of rows that an import left out as late; None if the import did not limit lateness."""
    tables = _tables_with_bound(origin)
    counts = [int(json_number(part["late_rows"])) for part in tables if "late" not in part]
    return sum(counts) if counts else None


def late_words(origin: Mapping[str, object], *, with_kept: bool = False) -> str:
    """Return a text on the late rows that an import left out, and with `with_kept` on those that it kept.

    The text is empty without late rows.
    """
    sentences = []
    for part in _tables_with_bound(origin):
        count, is_kept = json_number(part["late_rows"]), "late" in part
        if not count or (is_kept and not with_kept):
            continue
        rows = json_number(part["rows"]) + (0 if is_kept else count)
        treatment = "kept" if is_kept else "left out"
        sentences.append(
            f"{count:,} of {rows:,} rows of {part.get('table')} {treatment} by the import: more than "
            f"{part.get('out_of_order')} late"
        )
    return "; ".join(sentences)


def _tables_with_bound(origin: Mapping[str, object]) -> list[JsonObject]:
    """Return the record of each table with a bound on lateness."""
    tables = json_object(origin.get("tables", {"": origin}))
    parts = [json_object(part) for part in tables.values()]
    return [part for part in parts if "late_rows" in part]
