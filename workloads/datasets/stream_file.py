"""A stream on disk: one Parquet file, written in bounded blocks and identified by its content.

Parquet is written plain and Snappy-compressed in row groups of about a million rows, a form that
every engine reads fast. Its bytes depend on the version of the library, so the content hash is over
the columns: for each, name, dtype and all values in little-endian order.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.datasets.errors import DatasetError
from workloads.datasets.manifest import WrittenStream
from workloads.datasets.progress import report
from workloads.model import Columns

ROWS_PER_GROUP = 1 << 20
"""16 MiB of two int64 columns: small beside any memory, large beside the cost of a group."""


def write_stream(
    folder: Path,
    name: str,
    kinds: tuple[int, ...],
    dtypes: Mapping[str, np.dtype[Any]],
    blocks: Iterable[Columns],
) -> WrittenStream:
    """Write blocks of columns to `<name>.parquet` in `folder`; read them back for the record.

    Memory is that of one row group and one block. Reports rows to `<name>.done`.

    Raises:
        DatasetError: the timestamps of the blocks go down.
    """
    import pyarrow as pa  # heavy
    import pyarrow.parquet as pq

    path = folder / f"{name}.parquet"
    schema = pa.schema(
        [pa.field(column, pa.from_numpy_dtype(dtype), False) for column, dtype in dtypes.items()]
    )
    rows, latest = 0, 0
    with pq.ParquetWriter(path, schema, use_dictionary=False, compression="snappy") as writer:
        for group in _grouped(blocks, dtypes):
            ts = group["ts"]
            late = np.flatnonzero(np.diff(ts, prepend=latest if rows else ts[0]) < 0)
            if len(late):
                row = rows + int(late[0])
                raise DatasetError(
                    f"stream {name} is not sorted: row {row} has timestamp {ts[late[0]]}, which is "
                    "before that of the row before it"
                )
            latest = ts[-1]
            writer.write_table(pa.table(group, schema=schema), row_group_size=ROWS_PER_GROUP)
            rows += len(ts)
            report(folder / f"{name}.done", rows)
    return _record(path, name, kinds, dtypes)


def _grouped(
    blocks: Iterable[Columns], dtypes: Mapping[str, np.dtype[Any]]
) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Collect blocks into row groups; every block must be smaller than one."""
    pending: list[Columns] = []
    rows = 0
    for block in blocks:
        pending.append(block)
        rows += len(block["ts"])
        if rows >= ROWS_PER_GROUP:
            yield _joined(pending, dtypes)
            pending, rows = [], 0
    if rows:
        yield _joined(pending, dtypes)


def _joined(
    blocks: list[Columns], dtypes: Mapping[str, np.dtype[Any]]
) -> dict[str, npt.NDArray[Any]]:
    return {
        column: np.concatenate([block[column] for block in blocks]).astype(dtype, copy=False)
        for column, dtype in dtypes.items()
    }


def _record(
    path: Path, name: str, kinds: tuple[int, ...], dtypes: Mapping[str, np.dtype[Any]]
) -> WrittenStream:
    hashes = {
        column: hashlib.sha256(f"{column}:{dtype.str}:".encode())
        for column, dtype in dtypes.items()
    }
    rows, ts_min, ts_max = 0, 0, 0
    for group in read_groups(path):
        if not len(group["ts"]):
            continue
        ts_min = int(group["ts"][0]) if rows == 0 else ts_min
        ts_max = int(group["ts"][-1])
        rows += len(group["ts"])
        for column, digest in hashes.items():
            digest.update(np.ascontiguousarray(group[column]).data)
    whole = hashlib.sha256(b"".join(digest.digest() for digest in hashes.values()))
    return WrittenStream(
        name=name,
        kinds=kinds,
        file=path.name,
        bytes=path.stat().st_size,
        rows=rows,
        ts_min=ts_min,
        ts_max=ts_max,
        columns=tuple((column, dtype.name) for column, dtype in dtypes.items()),
        sha256=whole.hexdigest(),
    )


def read_groups(path: Path, only: list[str] | None = None) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield the row groups of a stream file as columns: all of them, or those that `only` names.

    Raises:
        DatasetError: the file is missing or damaged.
    """
    import pyarrow as pa  # heavy
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, memory_map=False) as file:
            for index in range(file.num_row_groups):
                table = file.read_row_group(index, columns=only, use_threads=False)
                yield {name: table.column(name).to_numpy() for name in table.column_names}
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(
            f"{path} cannot be read ({error}); remove its folder and build or import it again"
        ) from error
