"""Several streams of one kind, which share the rows of an import."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from workloads.datasets.imports.kind import StreamTable
from workloads.model import Block, ColumnType


def numbered(
    count: int,
    name: str,
    dtypes: Mapping[str, ColumnType],
    share: Callable[[int, int, Iterator[Block]], Iterator[Block]],
    *,
    kind: int = 0,
) -> tuple[StreamTable, ...]:
    """Return so many streams of one kind, `name-0` and so on.

    Args:
        count: how many.
        name: of the streams, before their number.
        dtypes: see `StreamTable`.
        share: `share(count, index, blocks)` yields what stream `index` has of blocks of all rows.
        kind: of the streams.
    """
    return tuple(
        StreamTable(
            name=f"{name}-{index}",
            kinds=(kind,),
            dtypes=dtypes,
            blocks=partial(share, count, index),
        )
        for index in range(count)
    )


def stamped(fields: np.dtype[np.void]) -> dict[str, ColumnType]:
    """Return the columns of a stream of events with these fields."""
    return {"ts": np.dtype(np.int64), **{name: fields[name] for name in fields.names or ()}}
