"""Caches oracle answers next to their dataset, so that each is computed once.

    <dataset>/expected/<workload>-<oracle version>-<hash>.parquet

The hash covers the dataset's content, the query parameters, and the oracle's code with everything that it calls and
reads (`streamlab.workloads.model.code.fingerprint`). For a workload without an oracle it covers the program and the
sources of the models. Content is verified before it is read, so an answer belongs to the content hashed in its name.

The file's metadata has the full hash and the columns' SHA-256. A file that does not match them is replaced. If the
folder cannot be written, answers are computed each time.
"""

import hashlib
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from streamlab.workloads import model
from streamlab.workloads.datasets import pa, pq
from streamlab.workloads.datasets.arrow import arrow_array, values_of
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.manifest import canonical
from streamlab.workloads.datasets.time_cutoff import truncate_answer
from streamlab.workloads.model import Columns, Input, Workload
from streamlab.workloads.model.code.fingerprint import code_of
from streamlab.workloads.model.reference import outputs_at_end
from streamlab.workloads.model.streams.records import column
from streamlab.workloads.model.workload import INVARIANTS, ORACLE

_CHECKSUM = b"sha256"
_MADE_FROM = b"made from"
_AT_END = b"outputs at end"
"""Keys of the metadata: the columns' SHA-256, the full hash, and the number of records that a flush adds at the end."""
_FOLDER = "expected"


def expected(workload: Workload, dataset: Dataset) -> Columns:
    """Return the oracle's answer for a dataset, as columns of the program's output dtype.

    For a truncated dataset, this is the answer for the complete dataset, truncated at the same time (see
    `time_cutoff`). But for a workload checked by invariants, it is the totals of the truncated dataset. Reads the input
    only if no answer is cached.
    """
    if dataset.until_ts is not None and workload.checked_by != INVARIANTS:
        complete = expected(workload, dataset.complete())
        return truncate_answer(complete, dataset.until_ts, workload.output)
    if not dataset.streams:
        return _compute(workload, dataset.load())
    answer_hash = _hash(workload, dataset)
    path = _path(workload, dataset, answer_hash)
    cached = _read(path, workload, answer_hash)
    if cached is not None:
        return cached
    data = dataset.load()
    answer = _compute(workload, data)
    with suppress(OSError):
        _write(path, answer, answer_hash, outputs_at_end(workload.program, data))
    return answer


def stored_outputs_at_end(workload: Workload, dataset: Dataset) -> int | None:
    """Return the stored number of records that a flush adds at the end of the oracle's answer (`outputs_at_end`).

    None if the dataset is truncated, the answer is not stored, or the count is not stored with it.
    """
    if dataset.until_ts is not None or not dataset.streams:
        return None
    try:
        metadata = pq.read_metadata(_path(workload, dataset, _hash(workload, dataset))).metadata
        count = (metadata or {}).get(_AT_END)
        return None if count is None else int(count)
    except (OSError, ValueError, pa.ArrowException):
        return None


def cached_answers(folder: Path) -> tuple[Path, ...]:
    """Return the files of cached answers in a dataset's folder."""
    return tuple(sorted((folder / _FOLDER).glob("*.parquet")))


def answers_folder(dataset: Dataset) -> Path | None:
    """Return the folder of cached answers for a dataset; it need not exist.

    None for a dataset without streams, whose answers are not cached.
    """
    streams = dataset.complete().streams
    return streams[0].path.parent / _FOLDER if streams else None


def is_intact(path: Path) -> bool:
    """Return whether the cached answer of any workload matches its checksum."""
    content = _table(path)
    return content is not None and content[0].get(_CHECKSUM) == _checksum(content[1])


def expected_rows(workload: Workload, dataset: Dataset) -> int | None:
    """Return the number of records in the cached answer, without computing an answer.

    None if the answer is missing or unreadable, or if invariants check the workload. Reads only the number of rows, or
    for a truncated dataset the times.
    """
    if not dataset.streams or workload.checked_by == INVARIANTS:
        return None
    complete = dataset.complete()
    path = _path(workload, complete, _hash(workload, complete))
    try:
        if dataset.until_ts is None:
            return int(pq.read_metadata(path).num_rows)
        with pq.ParquetFile(path) as file:
            ts = values_of(file.read(columns=["ts"]).column("ts"))
        return len(truncate_answer({"ts": ts}, dataset.until_ts, workload.output)["ts"])
    except (OSError, KeyError, DatasetError, pa.ArrowException):
        return None


def _path(workload: Workload, dataset: Dataset, answer_hash: str) -> Path:
    name = f"{workload.name}-{workload.oracle_version}-{answer_hash[:12]}.parquet"
    return dataset.streams[0].path.parent / _FOLDER / name


def _compute(workload: Workload, data: Input) -> Columns:
    answer, output = workload.oracle(data), workload.program.output
    return {name: column(name, answer[name], output) for name in output.names or ()}


def _hash(workload: Workload, dataset: Dataset) -> str:
    """Return a hash of content, code and query parameters, which determine the answer."""
    content: list[object] = [dataset.id, *(stream.sha256 for stream in dataset.streams)]
    if workload.checked_by == INVARIANTS:
        content += [stream.rows for stream in dataset.streams]
    code = code_of(workload.oracle, workload.program.output)
    if workload.checked_by != ORACLE:
        code += _hash_models()
    question = canonical([content, dict(workload.query_params), code])
    return hashlib.sha256(question.encode()).hexdigest()


@cache
def _hash_models() -> str:
    """Return a hash of all sources of the models, which define the results of programs."""
    digest = hashlib.sha256()
    for path in sorted(Path(model.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _checksum(answer: Columns) -> bytes:
    digest = hashlib.sha256()
    for name, values in answer.items():
        digest.update(f"{name}:{values.dtype.str}:{len(values)}:".encode())
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest().encode()


def _read(path: Path, workload: Workload, answer_hash: str) -> Columns | None:
    """Return the cached answer; None if it is missing or damaged, or if its hash or types differ."""
    content = _table(path)
    output = workload.program.output
    if content is None or set(content[1]) != set(output.names or ()):
        return None
    metadata, columns = content
    answer = {name: columns[name] for name in output.names or ()}
    same_types = all(answer[name].dtype == output[name] for name in answer)
    hashes = metadata.get(_MADE_FROM), metadata.get(_CHECKSUM)
    return answer if same_types and hashes == (answer_hash.encode(), _checksum(answer)) else None


def _table(path: Path) -> tuple[dict[bytes, bytes], Columns] | None:
    """Return the metadata and columns of a cached answer; None if it cannot be read."""
    if not path.is_file():
        return None
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
        columns = {name: values_of(table.column(name)) for name in table.column_names}
    except (OSError, LookupError, ValueError, MemoryError, DatasetError, pa.ArrowException):
        return None
    return dict(table.schema.metadata or {}), columns


def _write(path: Path, answer: Columns, answer_hash: str, at_end: int | None) -> None:
    """Write an answer to a file, atomically."""
    metadata = {_CHECKSUM: _checksum(answer), _MADE_FROM: answer_hash.encode()}
    if at_end is not None:
        metadata[_AT_END] = str(at_end).encode()
    arrays = {name: arrow_array(column) for name, column in answer.items()}
    table = pa.table(arrays).replace_schema_metadata(metadata)
    path.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-", delete=False) as new:
        pass
    try:
        pq.write_table(table, new.name, use_dictionary=False, write_page_checksum=True)
        Path(new.name).chmod(0o644)
        Path(new.name).replace(path)
    except BaseException:
        Path(new.name).unlink(missing_ok=True)
        raise
