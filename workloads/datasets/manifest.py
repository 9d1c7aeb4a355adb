"""`dataset.json`: the record of a dataset in the catalogue.

    {"format": 1, "id": "<sha-256>", "workload": ..., "alphabet": {"kinds": [...], "keys": n},
     "streams": [{"name", "kinds", "file", "bytes", "rows", "ts_min", "ts_max", "columns",
                  "sha256", "heartbeats"}, ...],
     "dictionaries": {"pages": "pages.parquet"}, "origin": {...}, "source": ..., "licence": ...}

Files are named relative to the folder, so that a catalogue may be moved. `id` is the SHA-256 of
what the data is: workload, alphabet, and each stream's name, kinds, columns, heartbeats and values.
Where it comes from is not part of it. Written last, so a folder without it is not a dataset.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workloads.datasets.dataset import Dataset, DatasetStream
from workloads.datasets.errors import DatasetError
from workloads.model import Alphabet

NAME = "dataset.json"
FORMAT = 1
ID_SHOWN = 16
"""Leading hex digits of the id that name the folder."""


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

    def id(self) -> str:
        """Return the SHA-256 of the content, in hex."""
        logical = {
            "workload": self.workload,
            "alphabet": [self.alphabet.kinds, self.alphabet.keys],
            "streams": [
                [part.name, part.kinds, part.rows, part.columns, part.sha256, part.heartbeats]
                for part in self.streams
            ],
        }
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
        "origin": dict(content.origin),
        "source": content.source,
        "licence": content.licence,
    }
    (folder / NAME).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return content.id()


def read(folder: Path) -> Dataset:
    """Return the dataset in a folder, after checking that its files are there in full.

    Raises:
        DatasetError: the record or a file is missing or damaged.
    """
    path = folder / NAME
    remedy = f"remove {folder} and build or import it again"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["format"] != FORMAT:
            raise DatasetError(
                f"{path}: format {record['format']!r}, this version reads {FORMAT}; {remedy}"
            )
        return _dataset(folder, record, remedy)
    except OSError as error:
        raise DatasetError(f"{path} cannot be read ({error.strerror}); {remedy}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{path} is damaged ({error!r}); {remedy}") from error


def _dataset(folder: Path, record: Mapping[str, Any], remedy: str) -> Dataset:
    return Dataset(
        id=record["id"],
        workload=record["workload"],
        alphabet=Alphabet(
            kinds=tuple(record["alphabet"]["kinds"]), keys=record["alphabet"]["keys"]
        ),
        streams=tuple(_stream(folder, stream, remedy) for stream in record["streams"]),
        origin=record["origin"],
        source=record["source"],
        licence=record["licence"],
    )


def _stream(folder: Path, record: Mapping[str, Any], remedy: str) -> DatasetStream:
    path = (folder / record["file"]).absolute()
    found = path.stat().st_size if path.is_file() else None
    if found != record["bytes"]:
        shown = "is missing" if found is None else f"has {found} bytes, not {record['bytes']}"
        raise DatasetError(f"{path} {shown}; {remedy}")
    return DatasetStream(
        name=record["name"],
        kinds=tuple(record["kinds"]),
        path=path,
        rows=record["rows"],
        ts_min=record["ts_min"],
        ts_max=record["ts_max"],
        columns=_pairs(record["columns"]),
        heartbeats=tuple(record["heartbeats"]),
    )


def _pairs(columns: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(dtype)) for name, dtype in columns)


def dictionaries(dataset_folder: Path) -> dict[str, Path]:
    """Return the dictionary files (ids to text) that stand beside a dataset, by name."""
    record = json.loads((dataset_folder / NAME).read_text(encoding="utf-8"))
    return {
        name: (dataset_folder / file).absolute() for name, file in record["dictionaries"].items()
    }
