"""Reads and writes `dataset.json`, the record of a dataset in the catalogue.

    {"format": 1, "id": "<sha-256>", "workload": ..., "alphabet": {"kinds": [...], "keys": n},
     "streams": [{"name", "kinds", "file", "bytes", "rows", "ts_min", "ts_max", "columns",
                  "sha256", "heartbeats"}, ...],
     "dictionaries": {"pages": "pages.parquet"}, "dictionary_sha256": {"pages": "<SHA-256>"},
     "origin": {...}, "source": ..., "licence": ...,
     "files": {"value-0.parquet": "<SHA-256 of its bytes>", ...}, "checksum": "<SHA-256>"}

`checksum` covers everything else as canonical JSON. Older records lack `files` and `checksum`.
In every record, the id is checked against the content that it covers.

File names are relative to the folder, so a catalogue can be moved. `id` is the SHA-256 of the data:
workload, alphabet, each stream's name, kinds, columns, heartbeats and values, and the texts of each
dictionary (not in older records without `dictionary_sha256`). It does not cover source, licence and origin.
The record is written last, so a folder without it is not a dataset.
"""

import hashlib
import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from streamlab.workloads.datasets.dataset import Dataset, DatasetStream, DictionaryFile
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.remedy import rebuild_command
from streamlab.workloads.model import Alphabet, ModelError

NAME = "dataset.json"
FORMAT = 1
ID_SHOWN = 16
"""Leading hex digits of the id that name the folder."""

_COLUMN_TYPE = re.compile(r"(list:)?(bool|u?int(8|16|32|64)|float(16|32|64))")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenStream:
    """The report of a task that wrote a stream. Fields as in `dataset.json`."""

    name: str
    kinds: tuple[int, ...]
    file: str
    bytes: int
    rows: int
    ts_min: int
    ts_max: int
    columns: tuple[tuple[str, str], ...]
    sha256: str
    heartbeats: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The content of a dataset's record."""

    workload: str
    alphabet: Alphabet
    streams: tuple[WrittenStream, ...]
    origin: Mapping[str, object]
    source: str
    licence: str
    dictionaries: Mapping[str, str] = field(default_factory=dict)
    dictionary_sha256: Mapping[str, str] = field(default_factory=dict)

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
        "workload": content.workload,
        "alphabet": {"kinds": content.alphabet.kinds, "keys": content.alphabet.keys},
        "streams": [
            {name: getattr(part, name) for name in WrittenStream.__slots__}
            for part in content.streams
        ],
        "dictionaries": dict(content.dictionaries),
        "dictionary_sha256": dict(content.dictionary_sha256),
        "origin": dict(content.origin),
        "source": content.source,
        "licence": content.licence,
        "files": {
            name: file_sha256(folder / name)
            for name in (*(part.file for part in content.streams), *content.dictionaries.values())
        },
    }
    record["checksum"] = _checksum(record)
    (folder / NAME).write_text(_text(record), encoding="utf-8")
    return content.id()


def restate(folder: Path, *, source: str, licence: str, origin: Mapping[str, object]) -> None:
    """Replace source, licence and origin in an intact record, atomically."""
    path = folder / NAME
    record = json.loads(path.read_text(encoding="utf-8"))
    record.update(source=source, licence=licence, origin=dict(origin))
    if "checksum" in record:
        record["checksum"] = _checksum(record)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{NAME}-") as staging:
        new = Path(staging) / NAME
        new.write_text(_text(record), encoding="utf-8")
        new.replace(path)


def _text(record: Mapping[str, Any]) -> str:
    return json.dumps(record, indent=2) + "\n"


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checksum(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a record without its `checksum`, in hex."""
    rest = {name: value for name, value in record.items() if name != "checksum"}
    return hashlib.sha256(canonical(rest).encode()).hexdigest()


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
                f"{path}: format {record['format']!r}, this version reads {FORMAT}; {remedy}"
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
        raise DatasetError(f"{path} is of another dataset, {dataset.id}; {remedy}")
    for stream, recorded in zip(dataset.streams, record["streams"], strict=True):
        size = stream.path.stat().st_size if stream.path.is_file() else None
        if size != recorded["bytes"]:
            shown = "is missing" if size is None else f"has {size} bytes, not {recorded['bytes']}"
            raise DatasetError(
                f"{stream.path} (stream {stream.name}) {shown}; {rebuild_command(dataset)}"
            )
    return dataset


def _dataset(folder: Path, record: Mapping[str, Any]) -> Dataset:
    """Return the dataset that a record describes.

    Raises:
        DatasetError, ModelError, LookupError, TypeError, ValueError: the record is invalid.
    """
    sums = record.get("files")
    if (sums is not None or "checksum" in record) and record["checksum"] != _checksum(record):
        raise ValueError("its content does not match its checksum")
    content = Content(
        workload=_typed(str, record["workload"]),
        alphabet=Alphabet(
            kinds=tuple(_typed(str, kind) for kind in record["alphabet"]["kinds"]),
            keys=_typed(int, record["alphabet"]["keys"]),
        ),
        streams=tuple(_stream(stream) for stream in record["streams"]),
        origin=_origin(record["origin"]),
        source=_typed(str, record["source"]),
        licence=_typed(str, record["licence"]),
        dictionaries={
            _typed(str, name): _file_name(file) for name, file in record["dictionaries"].items()
        },
        dictionary_sha256={
            _typed(str, name): _sha256(texts)
            for name, texts in record.get("dictionary_sha256", {}).items()
        },
    )
    if content.id() != _sha256(record["id"]):
        raise ValueError(f"its id is {record['id']!r:.80}, but its content has id {content.id()}")
    here = folder.absolute()
    return Dataset(
        id=record["id"],
        workload=content.workload,
        alphabet=content.alphabet,
        streams=tuple(
            DatasetStream(
                name=part.name,
                kinds=part.kinds,
                path=here / part.file,
                rows=part.rows,
                ts_min=part.ts_min,
                ts_max=part.ts_max,
                columns=part.columns,
                sha256=part.sha256,
                heartbeats=part.heartbeats,
                file_sha256=None if sums is None else _sha256(sums[part.file]),
            )
            for part in content.streams
        ),
        dictionaries=tuple(
            DictionaryFile(
                name=name,
                path=here / file,
                file_sha256=None if sums is None else _sha256(sums[file]),
            )
            for name, file in content.dictionaries.items()
        ),
        origin=content.origin,
        source=content.source,
        licence=content.licence,
    )


def _stream(record: Mapping[str, Any]) -> WrittenStream:
    columns = tuple((_typed(str, name), _typed(str, dtype)) for name, dtype in record["columns"])
    for _, dtype in columns:
        if _COLUMN_TYPE.fullmatch(dtype) is None:
            raise ValueError(f"{dtype!r:.60} is not a column type")
    return WrittenStream(
        name=_typed(str, record["name"]),
        kinds=tuple(_typed(int, kind) for kind in record["kinds"]),
        file=_file_name(record["file"]),
        bytes=_typed(int, record["bytes"]),
        rows=_typed(int, record["rows"]),
        ts_min=_typed(int, record["ts_min"]),
        ts_max=_typed(int, record["ts_max"]),
        columns=columns,
        sha256=_sha256(record["sha256"]),
        heartbeats=tuple(_typed(int, at) for at in record["heartbeats"]),
    )


def _origin(origin: object) -> dict[str, object]:
    """Return how a dataset was made; checks only the fields that readers rely on."""
    fields: dict[str, object] = _typed(dict, origin)
    for file in _typed(list, fields.get("files", [])):
        _typed(str, _typed(dict, file)["name"])
    _typed(dict, fields.get("params", {}))
    return fields


def _typed(kind: type[_T], value: object) -> _T:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{value!r:.60} is not of type {kind.__name__}")
    return value


def _file_name(value: object) -> str:
    """Return the name of a file in the record's folder; rejects paths elsewhere."""
    name = _typed(str, value)
    if not name or Path(name).name != name or "\0" in name:
        raise ValueError(f"{name!r:.60} is not a file name")
    return name


def is_id(text: str) -> bool:
    """Return whether a text is a SHA-256 in hex; all zeros is not, since it was never computed."""
    return re.fullmatch("[0-9a-f]{64}", text) is not None and set(text) != {"0"}


def is_folder_name(name: str) -> bool:
    """Return whether a dataset's folder may have this name."""
    return re.fullmatch(f"[0-9a-f]{{{ID_SHOWN}}}", name) is not None


def _sha256(value: object) -> str:
    text = _typed(str, value)
    if not is_id(text):
        raise ValueError(f"{text!r:.80} is not a SHA-256")
    return text


def dictionaries(dataset_folder: Path) -> dict[str, Path]:
    """Return the dictionary files (ids to text) of a dataset, by name."""
    record = json.loads((dataset_folder / NAME).read_text(encoding="utf-8"))
    return {
        name: (dataset_folder / file).absolute() for name, file in record["dictionaries"].items()
    }
