"""Detects damage: compares files of a dataset with the checksums in its record.

    bytes     SHA-256 of each file; takes 0.7 s of CPU time per GB
    pages     CRC-32 of every Parquet page, checked by the decoder

A run checks its datasets once and records a stamp of each verified file: size, inode, and times of last
modification and change. A trial checks a file again unless its stamp is unchanged, so a stamp can only save time.
Stamps are in memory and in the specifications of the run's trials, never in the catalogue.
"""

from dataclasses import replace
from pathlib import Path

from streamlab.workloads.datasets import manifest, pq
from streamlab.workloads.datasets.dataset import Dataset, DatasetStream, DictionaryFile
from streamlab.workloads.datasets.errors import DamagedError
from streamlab.workloads.datasets.remedy import rebuild_command

_SHOWN = 12
"""Hex digits of a checksum in messages."""


def verify(dataset: Dataset) -> Dataset:
    """Verify all files of a dataset and return it with their stamps.

    Raises:
        DamagedError: a file is missing or damaged; the message names it and the remedy.
    """
    try:
        streams = tuple(check_stream(stream) for stream in dataset.streams)
        for part in dataset.dictionaries:
            check_dictionary(part)
    except DamagedError as error:
        raise DamagedError(f"{error}; {rebuild_command(dataset)}") from error
    return replace(dataset, streams=streams)


def check_stream(stream: DatasetStream) -> DatasetStream:
    """Verify the files of a stream and return the stream with their stamp.

    Reads nothing if the stream already carries this stamp.

    Raises:
        DamagedError: a file is missing or damaged, or changes during the check.
    """
    before = _stamp(stream)
    if stream.stamp == before:
        return stream
    _check_bytes(stream.path, f"stream {stream.name}", stream.file_sha256)
    for file in stream.further:
        _check_bytes(file.path, f"stream {stream.name}", file.file_sha256)
    if _stamp(stream) != before:
        raise DamagedError(f"{stream.path} (stream {stream.name}) changed while it was checked")
    return replace(stream, stamp=before)


def check_dictionary(part: DictionaryFile) -> None:
    """Compare a dictionary with its checksum.

    Raises:
        DamagedError: the file is missing or damaged.
    """
    _check_bytes(part.path, f"dictionary {part.name}", part.file_sha256)


def dictionary_texts(part: DictionaryFile) -> list[str]:
    """Return the texts of a dictionary, by id, after comparing it with its checksum.

    Raises:
        DamagedError: the file is missing or damaged.
    """
    check_dictionary(part)
    table = pq.read_table(part.path, columns=["text"])
    texts: list[str] = table.column("text").to_pylist()
    return texts


def _check_bytes(path: Path, description: str, expected: str) -> None:
    try:
        actual = manifest.file_sha256(path)
    except OSError as error:
        raise DamagedError(f"{path} ({description}) cannot be read: {error.strerror}") from error
    if actual != expected:
        raise DamagedError(
            f"{path} ({description}) is damaged: its bytes have SHA-256 {actual[:_SHOWN]}..., but had "
            f"{expected[:_SHOWN]}... when it was written"
        )


def _stamp(stream: DatasetStream) -> str:
    return " ".join(_stamp_of_file(path, stream.name) for path in stream.paths)


def _stamp_of_file(path: Path, name: str) -> str:
    try:
        state = path.stat()
    except OSError as error:
        raise DamagedError(f"{path} (stream {name}) cannot be read: {error.strerror}") from error
    return f"{state.st_size}-{state.st_ino}-{state.st_mtime_ns}-{state.st_ctime_ns}"
