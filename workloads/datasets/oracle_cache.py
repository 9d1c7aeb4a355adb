"""Keeps oracle answers beside their dataset, so that each is computed once.

    <dataset>/expected-<oracle version>-<hash of the oracle's source>.parquet

The columns' SHA-256 is in the file's metadata; a file that does not read back to it is computed
again and replaced. Where the folder cannot be written, answers are computed each time.
"""

import hashlib
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from workloads.datasets import total_order
from workloads.datasets.cut import answer_before
from workloads.datasets.dataset import Dataset
from workloads.model import Columns, Input, Workload

_CHECKSUM = b"sha256"


def expected(workload: Workload, dataset: Dataset) -> Columns:
    """Return the oracle's answer for a dataset, as columns of the program's output dtype.

    For a dataset that is cut off it is the answer for the whole, cut off there (`cut.py`). The
    input is read only when there is no kept answer.

    Args:
        workload: whose oracle to ask.
        dataset: the input; the answer is kept beside it.
    """
    if dataset.until_ts is not None:
        return answer_before(expected(workload, dataset.whole()), dataset.until_ts)
    if not dataset.streams:
        return _computed(workload, dataset.load())
    version = f"{workload.oracle_version}-{_source_hash(workload)}"
    path = dataset.streams[0].path.parent / f"expected-{version}.parquet"
    kept = _read(path, workload)
    if kept is not None:
        return kept
    answer = _computed(workload, dataset.load())
    with suppress(OSError):
        _write(path, answer)
    return answer


def _computed(workload: Workload, data: Input) -> Columns:
    answer, output = workload.oracle(data), workload.program.output
    return {name: answer[name].astype(output[name], copy=False) for name in output.names or ()}


def _source_hash(workload: Workload) -> str:
    """Return a hash of the code that the answer depends on: the oracle and what it reads by."""
    digest = hashlib.sha256()
    for module in (sys.modules[workload.oracle.__module__], total_order):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()[:12]


def _checksum(answer: Columns) -> bytes:
    digest = hashlib.sha256()
    for name, values in answer.items():
        digest.update(f"{name}:{values.dtype.str}:{len(values)}:".encode())
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest().encode()


def _read(path: Path, workload: Workload) -> Columns | None:
    """Return the kept answer, None when there is none or it is damaged."""
    import pyarrow as pa  # heavy
    import pyarrow.parquet as pq

    if not path.is_file():
        return None
    output = workload.program.output
    try:
        table = pq.read_table(path)
        answer = {name: table.column(name).to_numpy() for name in output.names or ()}
    except (OSError, KeyError, pa.ArrowException):
        return None
    as_written = {name: answer[name].dtype for name in answer} == {
        name: output[name] for name in answer
    }
    checksum = (table.schema.metadata or {}).get(_CHECKSUM)
    return answer if as_written and checksum == _checksum(answer) else None


def _write(path: Path, answer: Columns) -> None:
    """Write the file whole or not at all."""
    import pyarrow as pa  # heavy
    import pyarrow.parquet as pq

    table = pa.table(answer).replace_schema_metadata({_CHECKSUM: _checksum(answer)})
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".expected-", delete=False) as new:
        pass
    try:
        pq.write_table(table, new.name, use_dictionary=False)
        Path(new.name).chmod(0o644)
        Path(new.name).replace(path)
    except BaseException:
        Path(new.name).unlink(missing_ok=True)
        raise
