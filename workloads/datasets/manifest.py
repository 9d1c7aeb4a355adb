"""Reads and writes `dataset.json`, the record of a dataset in the catalogue.

    {"format": 1, "id": "<sha-256>", "workload": ..., "alphabet": {"kinds": [...], "keys": n},
     "streams": [{"name", "kinds", "file", "bytes", "rows", "ts_min", "ts_max", "columns",
                  "sha256", "heartbeats", "further": [{"file", "bytes", "first_row"}, ...]}, ...],
     "dictionaries": {"pages": "pages.parquet"}, "dictionary_sha256": {"pages": "<SHA-256>"},
     "origin": {...}, "source": ..., "licence": ...,
     "files": {"value-0.parquet": "<SHA-256 of its bytes>", ...}, "checksum": "<SHA-256>"}

`checksum` covers all other fields as canonical JSON. `id` is the SHA-256 of the data: workload, alphabet, each stream's
name, kinds, columns, heartbeats and values, and the texts of each dictionary. It does not cover source, licence and
origin.

File names are relative to the folder, so a catalogue can be moved. The record is written last, so a folder without it
is not a dataset.
"""

import hashlib
import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from streamlab.workloads.datasets.dataset import Dataset, DatasetStream, DictionaryFile, FurtherFile
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.remedy import rebuild_command
from streamlab.workloads.model import Alphabet, ModelError

NAME = "dataset.json"
FORMAT = 1
ID_SHOWN = 16
"""Leading hex digits of the id that name the folder."""

_Sha256 = Annotated[str, Meta(pattern=r"\A(?!0{64})[0-9a-f]{64}\Z")]
"""A SHA-256 in hex. All zeros are invalid: they stand for a value that was never computed."""
_FileName = Annotated[str, Meta(pattern=r"\A(?!\.\Z)[^/\0]+\Z")]
"""A file in the record's folder, not a path elsewhere."""
_ColumnType = Annotated[str, Meta(pattern=r"\A(list:)?(bool|u?int(8|16|32|64)|float(16|32|64))\Z")]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A file of a stream: its name, its size in bytes and the number of rows in earlier files."""

    file: _FileName
    bytes: int
    first_row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenStream:
    """A written stream, or one of its files, with the fields of `dataset.json`."""

    name: str
    kinds: tuple[int, ...]
    file: _FileName
    bytes: int
    rows: int
    ts_min: int
    ts_max: int
    columns: tuple[tuple[str, _ColumnType], ...]
    sha256: _Sha256
    heartbeats: tuple[int, ...] = ()
    further: tuple[WrittenFile, ...] = ()

    def files(self) -> tuple[WrittenFile, ...]:
        """Return all files, in order of rows."""
        return (WrittenFile(file=self.file, bytes=self.bytes, first_row=0), *self.further)


_SHARED_FIELDS = sorted(set(WrittenStream.__slots__) & set(DatasetStream.__slots__) - {"further"})
"""The fields that `DatasetStream` takes over from the record unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The content of a dataset's record, with the fields of `dataset.json`."""

    workload: str
    alphabet: Alphabet
    streams: tuple[WrittenStream, ...]
    dictionaries: Mapping[str, _FileName] = field(default_factory=dict)
    dictionary_sha256: Mapping[str, _Sha256] = field(default_factory=dict)
    origin: Mapping[str, object]
    source: str
    licence: str

    def id(self) -> str:
        """Return the SHA-256 of the content, in hex."""
        logical: dict[str, object] = {
            "workload": self.workload,
            "alphabet": [self.alphabet.kinds, self.alphabet.keys],
            "streams": [
                [part.name, part.kinds, part.rows, part.columns, part.sha256, part.heartbeats]
                for part in self.streams
            ],
        }
        if self.dictionary_sha256:
            logical["dictionaries"] = dict(self.dictionary_sha256)
        return hashlib.sha256(canonical(logical).encode()).hexdigest()


def canonical(value: object) -> str:
    """Return JSON text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def write(folder: Path, content: Content) -> str:
    """Write `dataset.json` into a folder and return the dataset's id."""
    record = {
        "format": FORMAT,
        "id": content.id(),
        **asdict(content),
        "files": {
            name: file_sha256(folder / name)
            for name in (
                *(file.file for part in content.streams for file in part.files()),
                *content.dictionaries.values(),
            )
        },
    }
    record["checksum"] = _checksum(record)
    (folder / NAME).write_text(f"{json.dumps(record, indent=2)}\n", encoding="utf-8")
    return content.id()


def restate(folder: Path, *, source: str, licence: str, origin: Mapping[str, object]) -> None:
    """Replace source, licence and origin in an intact record, atomically."""
    path = folder / NAME
    record = json.loads(path.read_text(encoding="utf-8"))
    record.update(source=source, licence=licence, origin=dict(origin))
    record["checksum"] = _checksum(record)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{NAME}-") as staging:
        new = Path(staging) / NAME
        new.write_text(f"{json.dumps(record, indent=2)}\n", encoding="utf-8")
        new.replace(path)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checksum(record: Mapping[str, object]) -> str:
    """Return the SHA-256 of a record without its `checksum`, in hex."""
    others = {name: value for name, value in record.items() if name != "checksum"}
    return hashlib.sha256(canonical(others).encode()).hexdigest()


def read(folder: Path) -> Dataset:
    """Return the dataset in a folder, after checking its record and the size of its files.

    If the folder's name is that of a catalogue folder, it must match the id.
    `integrity.verify` checks the content of the files.

    Raises:
        DatasetError: the record or a file is missing or damaged, or belongs to another dataset.
    """
    path = folder / NAME
    remedy = f"remove {folder} and build or import it again"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["format"] != FORMAT:
            raise DatasetError(
                f"{path} has format {record['format']!r}, but this version reads {FORMAT}; {remedy}"
            )
        dataset = _dataset(folder, record)
    except OSError as error:
        raise DatasetError(f"{path} cannot be read ({error.strerror}); {remedy}") from error
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        ModelError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:  # any JSON may be in place of a record
        raise DatasetError(f"{path} is damaged ({error!r:.200}); {remedy}") from error
    if is_folder_name(folder.name) and not dataset.id.startswith(folder.name):
        raise DatasetError(f"{path} belongs to another dataset, {dataset.id}; {remedy}")
    for stream, recorded in zip(dataset.streams, record["streams"], strict=True):
        for path, in_record in zip(
            stream.paths, (recorded, *recorded.get("further", ())), strict=True
        ):
            size = path.stat().st_size if path.is_file() else None
            if size != in_record["bytes"]:
                shown = (
                    "is missing" if size is None else f"has {size} bytes, not {in_record['bytes']}"
                )
                raise DatasetError(
                    f"{path} (stream {stream.name}) {shown}; {rebuild_command(dataset)}"
                )
    return dataset


def _dataset(folder: Path, record: Mapping[str, object]) -> Dataset:
    """Return the dataset that a record describes.

    Raises:
        DatasetError, ModelError, LookupError, TypeError, ValueError: the record is invalid.
    """
    if record["checksum"] != _checksum(record):
        raise ValueError("its content does not match its checksum")
    content = msgspec.convert(record, Content)
    msgspec.convert(content.origin, _Origin)
    sums = msgspec.convert(record["files"], dict[str, _Sha256])
    if content.id() != msgspec.convert(record["id"], _Sha256):
        raise ValueError(f"its id is {record['id']!r:.80}, but its content has id {content.id()}")
    root = folder.absolute()
    return Dataset(
        id=content.id(),
        workload=content.workload,
        alphabet=content.alphabet,
        streams=tuple(
            DatasetStream(
                path=root / part.file,
                file_sha256=sums[part.file],
                further=tuple(
                    FurtherFile(
                        path=root / file.file,
                        first_row=file.first_row,
                        file_sha256=sums[file.file],
                    )
                    for file in part.further
                ),
                **{name: getattr(part, name) for name in _SHARED_FIELDS},
            )
            for part in content.streams
        ),
        dictionaries=tuple(
            DictionaryFile(name=name, path=root / file, file_sha256=sums[file])
            for name, file in content.dictionaries.items()
        ),
        origin=content.origin,
        source=content.source,
        licence=content.licence,
    )


class _File(TypedDict):
    name: str


class _Origin(TypedDict, total=False):
    """The fields of `origin` that code reads."""

    files: list[_File]
    params: dict[str, object]


def is_id(text: str) -> bool:
    """Return whether a text is a valid SHA-256 in hex (`_Sha256`)."""
    return re.fullmatch("(?!0{64})[0-9a-f]{64}", text) is not None


def is_folder_name(name: str) -> bool:
    """Return whether a dataset's folder may have this name."""
    return re.fullmatch(f"[0-9a-f]{{{ID_SHOWN}}}", name) is not None
