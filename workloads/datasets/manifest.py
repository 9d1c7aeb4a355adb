"""`dataset.json`: the record of a dataset in the catalogue.

    {"format": 1, "id": "<sha-256>", "workload": ..., "alphabet": {"kinds": [...], "keys": n},
     "streams": [{"name", "kinds", "file", "bytes", "rows", "ts_min", "ts_max", "columns",
                  "sha256", "heartbeats"}, ...],
     "dictionaries": {"pages": "pages.parquet"}, "dictionary_sha256": {"pages": "<SHA-256>"},
     "origin": {...}, "source": ..., "licence": ...,
     "files": {"value-0.parquet": "<SHA-256 of its bytes>", ...}, "checksum": "<SHA-256>"}

`checksum` is over all the rest as canonical JSON. Records written before there were `files` and
`checksum` have neither; what the id covers is checked against it in every record.

Files are named relative to the folder, so that a catalogue may be moved. `id` is the SHA-256 of
what the data is: workload, alphabet, each stream's name, kinds, columns, heartbeats and values, and
the texts of each dictionary (records written before there was `dictionary_sha256`: not these).
Where it comes from is not part of it. Written last, so a folder without it is not a dataset.
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
from streamlab.workloads.datasets.remedy import how_to_make_again
from streamlab.workloads.model import Alphabet, ModelError

NAME = "dataset.json"
FORMAT = 1
ID_SHOWN = 16
"""Leading hex digits of the id that name the folder."""

_COLUMN_TYPE = re.compile(r"(list:)?(bool|u?int(8|16|32|64)|float(16|32|64))")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenStream:
    """What a task that wrote a stream reports. Fields as in `dataset.json`."""

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
    """All that a dataset's record holds."""

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
    """Return JSON text that is the same for equal values."""
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
    """Replace what an intact record says of where a dataset comes from, whole or not at all."""
    path = folder / NAME
    record = json.loads(path.read_text(encoding="utf-8"))
    record.update(source=source, licence=licence, origin=dict(origin))
    if "checksum" in record:
        record["checksum"] = _checksum(record)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{NAME}-") as beside:
        new = Path(beside) / NAME
        new.write_text(_text(record), encoding="utf-8")
        new.replace(path)


def _text(record: Mapping[str, Any]) -> str:
    return json.dumps(record, indent=2) + "\n"


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checksum(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a record without its own checksum, in hex."""
    rest = {name: value for name, value in record.items() if name != "checksum"}
    return hashlib.sha256(canonical(rest).encode()).hexdigest()


def read(folder: Path) -> Dataset:
    """Return the dataset in a folder, after checking its record and that its files are all there.

    A folder with a name as in the catalogue must be named by the id. The content of the files is
    not looked at; `integrity.verified` does that.

    Raises:
        DatasetError: the record or a file is missing or damaged, or of another dataset.
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
    ) as error:  # whatever JSON there may be in place of a record
        raise DatasetError(f"{path} is damaged ({error!r:.200}); {remedy}") from error
    if names_a_folder(folder.name) and not dataset.id.startswith(folder.name):
        raise DatasetError(f"{path} is of another dataset, {dataset.id}; {remedy}")
    for stream, wanted in zip(dataset.streams, record["streams"], strict=True):
        found = stream.path.stat().st_size if stream.path.is_file() else None
        if found != wanted["bytes"]:
            shown = "is missing" if found is None else f"has {found} bytes, not {wanted['bytes']}"
            raise DatasetError(
                f"{stream.path} (stream {stream.name}) {shown}; {how_to_make_again(dataset)}"
            )
    return dataset


def _dataset(folder: Path, record: Mapping[str, Any]) -> Dataset:
    """Return the dataset that a record describes.

    Raises:
        DatasetError, ModelError, LookupError, TypeError, ValueError: it is none.
    """
    sums = record.get("files")
    if (sums is not None or "checksum" in record) and record["checksum"] != _checksum(record):
        raise ValueError("it is not what its checksum says")
    content = Content(
        workload=_of(str, record["workload"]),
        alphabet=Alphabet(
            kinds=tuple(_of(str, kind) for kind in record["alphabet"]["kinds"]),
            keys=_of(int, record["alphabet"]["keys"]),
        ),
        streams=tuple(_stream(stream) for stream in record["streams"]),
        origin=_origin(record["origin"]),
        source=_of(str, record["source"]),
        licence=_of(str, record["licence"]),
        dictionaries={
            _of(str, name): _file_name(file) for name, file in record["dictionaries"].items()
        },
        dictionary_sha256={
            _of(str, name): _sha256(texts)
            for name, texts in record.get("dictionary_sha256", {}).items()
        },
    )
    if content.id() != _sha256(record["id"]):
        raise ValueError(f"its id is {record['id']!r:.80}, and of what it says {content.id()}")
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
    columns = tuple((_of(str, name), _of(str, dtype)) for name, dtype in record["columns"])
    for _, dtype in columns:
        if _COLUMN_TYPE.fullmatch(dtype) is None:
            raise ValueError(f"{dtype!r:.60} is no type of a column")
    return WrittenStream(
        name=_of(str, record["name"]),
        kinds=tuple(_of(int, kind) for kind in record["kinds"]),
        file=_file_name(record["file"]),
        bytes=_of(int, record["bytes"]),
        rows=_of(int, record["rows"]),
        ts_min=_of(int, record["ts_min"]),
        ts_max=_of(int, record["ts_max"]),
        columns=columns,
        sha256=_sha256(record["sha256"]),
        heartbeats=tuple(_of(int, at) for at in record["heartbeats"]),
    )


def _origin(origin: object) -> dict[str, object]:
    """Return how a dataset was made; only what readers of it rely on is checked."""
    found: dict[str, object] = _of(dict, origin)
    for file in _of(list, found.get("files", [])):
        _of(str, _of(dict, file)["name"])
    _of(dict, found.get("params", {}))
    return found


def _of(kind: type[_T], value: object) -> _T:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{value!r:.60} is no {kind.__name__}")
    return value


def _file_name(value: object) -> str:
    """Return the name of a file in the folder of the record, and nowhere else."""
    name = _of(str, value)
    if not name or Path(name).name != name or "\0" in name:
        raise ValueError(f"{name!r:.60} is no name of a file")
    return name


def is_id(text: str) -> bool:
    """Tell whether a text is a SHA-256 in hex; one that is all zeros was never computed."""
    return re.fullmatch("[0-9a-f]{64}", text) is not None and set(text) != {"0"}


def names_a_folder(name: str) -> bool:
    """Tell whether a dataset's folder may have this name."""
    return re.fullmatch(f"[0-9a-f]{{{ID_SHOWN}}}", name) is not None


def _sha256(value: object) -> str:
    text = _of(str, value)
    if not is_id(text):
        raise ValueError(f"{text!r:.80} is no SHA-256")
    return text


def dictionaries(dataset_folder: Path) -> dict[str, Path]:
    """Return the dictionary files (ids to text) that stand beside a dataset, by name."""
    record = json.loads((dataset_folder / NAME).read_text(encoding="utf-8"))
    return {
        name: (dataset_folder / file).absolute() for name, file in record["dictionaries"].items()
    }
