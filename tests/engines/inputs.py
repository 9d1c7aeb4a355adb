"""Small inputs for the tests of engines, from columns or by chance."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from streamlab.engines.conformance import first_rows
from streamlab.engines.conformance import head as head
from streamlab.workloads.model import Alphabet, Columns, Input, Stream
from streamlab.workloads.registry import workload


def input_of(
    kinds: Sequence[str],
    *streams: tuple[int | tuple[int, ...], Any, dict[str, Any]],
    keys: int = 1,
    until_ts: int | None = None,
) -> Input:
    """Return an input of streams, each given by its kind or kinds, event times and columns.

    `tag` may be among the columns; the others are the payload.
    """
    made = []
    for index, (kind, ts, columns) in enumerate(streams):
        payload = dict(columns)
        tag = payload.pop("tag", None)
        made.append(
            Stream(
                name=f"stream-{index}",
                kinds=kind if isinstance(kind, tuple) else (kind,),
                ts=np.ascontiguousarray(ts, dtype=np.int64),
                tag=None if tag is None else np.ascontiguousarray(tag, dtype=np.int32),
                payload=payload,
            )
        )
    alphabet = Alphabet(kinds=tuple(kinds), keys=keys)
    return Input(alphabet=alphabet, streams=tuple(made), until_ts=until_ts)


def without_events(data: Input) -> Input:
    """Return the input with all its streams, and no event in them."""
    return first_rows(data, {})


def tied_input(
    name: str, seed: int, *, mixed: bool = False, keys: int = 3, fewest: int = 0
) -> Input:
    """Return an input of a DGS program of two kinds, with ties everywhere and times below 0.

    Streams have at least `fewest` rows; the last one has both kinds if `mixed`.
    """
    program = workload(name).program
    rng = np.random.default_rng(seed)
    keys = keys if program.keyed else 1
    streams = []
    for kinds in ((0,), (1,), (0,), (1,), (0, 1) if mixed else (0,)):
        rows, last = int(rng.integers(fewest, 90)), int(rng.integers(1, 40))
        columns = {
            field: rng.integers(-3000, 3000, rows).astype(program.event[field])
            for field in program.event.names
        }
        tag = rng.choice(kinds, rows) + 2 * rng.integers(0, keys, rows)
        ts = np.sort(rng.integers(-5, last, rows))
        streams.append((kinds, ts, {"tag": tag, **columns}))
    return input_of(program.kinds, *streams, keys=keys)


def sorted_rows(answer: Columns) -> list[tuple[Any, ...]]:
    """Return the records of an answer, sorted."""
    return sorted(zip(*(column.tolist() for column in answer.values()), strict=True))
