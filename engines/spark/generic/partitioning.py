"""Assigns records to the groups of a segment, by the program's tags and keys."""

from bisect import bisect_right
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamlab.engines.spark.generic.segments import Segment
from streamlab.engines.spark.generic.tables import TAG, events, pack
from streamlab.workloads.model import Alphabet, DGSProgram, Pipeline, Query, Stage
from streamlab.workloads.model.operators.key_buckets import bucket_of, hash_key


def assign_groups(segment: Segment, alphabet: Alphabet, table: pa.Table) -> list[bytes | None]:
    """Return the records of each group of a segment, as bytes; None for groups without records."""
    if not len(table):
        return [None] * segment.groups
    if segment.groups == 1:
        return [pack(table)]
    if isinstance(segment.program, Query) and segment.program.operators[0].join is not None:
        return [pack(table)] * segment.groups
    return [
        pack(table.filter(pa.array(mask))) if mask.any() else None
        for mask in _owners(segment, alphabet, table)
    ]


def _owners(segment: Segment, alphabet: Alphabet, table: pa.Table) -> npt.NDArray[np.bool_]:
    """Return bool[groups, rows]: which groups need which records."""
    program, groups = segment.program, segment.groups
    assert program is not None
    owners = np.zeros((groups, len(table)), dtype=np.bool_)
    if segment.level is not None:
        owners[segment.level.groups_of(table), np.arange(len(table))] = True
    elif isinstance(program, DGSProgram):
        assert segment.parts is not None
        owners[segment.parts[table[TAG].to_numpy()] % groups, np.arange(len(table))] = True
    elif isinstance(program, Pipeline):
        key = program.stages[0].key
        assert key is not None, "segments of several groups are those of keys"
        for row, t in enumerate(events(program, alphabet, table)):
            owners[_partition(program.stages[0], int(key(t))) % groups, row] = True
    else:
        assert isinstance(program, Query)
        (operator,) = program.operators
        keys: set[int] = set()
        out = SimpleNamespace(add=keys.add)
        for row, t in enumerate(events(program, alphabet, table)):
            operator.keys(t, out)
            owners[[bucket_of(operator, key_) % groups for key_ in keys], row] = True
            keys.clear()
    return owners


def _partition(stage: Stage, key: int) -> int:
    if stage.bounds is not None:
        return bisect_right(stage.bounds, key)
    return hash_key(key) % stage.partitions
