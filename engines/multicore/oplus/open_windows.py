"""Runs a query of one operator O+ on consecutive parts of its input, with the tuples of open windows between them.

Before each part, the run repeats the tuples whose windows were still open, or that a join still compares.
These tuples produce some outputs again, so two kinds of outputs are removed. First, outputs up to the watermark before
the part are removed, because the run repeats only a part of the expired windows. Second, the first n of the remaining
outputs are removed, where n counts the outputs that earlier parts already produced from these tuples.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from streamlab.workloads.model import Columns, Input, ListColumn, Operator, Query, Stream
from streamlab.workloads.model.operators.program import SINGLE
from streamlab.workloads.model.operators.windows import earliest_left
from streamlab.workloads.model.streams.stream import since


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWindows:
    """The state that a query resumes from: open windows of the input so far.

    Attributes:
        tuples: for each stream, the tuples of open windows.
        watermark: event time up to which the input is complete.
        emitted: number of outputs of these tuples so far with a time after the watermark.
    """

    tuples: tuple[Stream, ...]
    watermark: int
    emitted: int


def unresumable(query: Query) -> str | None:
    """Return why the windows of a query cannot be resumed, or None."""
    if len(query.operators) > 1:
        return f"query {query.name} has several operators, whose windows the core does not return"
    (operator,) = query.operators
    if operator.join is not None:
        if operator.window.advance == 1:
            return None
        return (
            f"join {operator.name} has windows that advance by {operator.window.advance}, and only windows "
            "that advance by 1 are resumed"
        )
    if operator.window.type == SINGLE and not _is_stateless(operator):
        return f"operator {operator.name} has a single window, whose state the core does not return"
    return None


def resume(
    query: Query, data: Input, state: OpenWindows | None, run: Callable[[Input], Columns]
) -> tuple[Columns, OpenWindows]:
    """Process a part of an input up to its `until_ts`; return its outputs and the open windows.

    `state` is the state after the preceding part, or None at the beginning. `run` returns all outputs of an input.
    """
    assert data.until_ts is not None, "the end of a part is known"
    streams, watermark = data.streams, data.until_ts - 1
    if state is not None:
        streams = tuple(map(_concatenate, state.tuples, streams))
    columns = run(replace(data, streams=streams))
    ts = columns["ts"].astype(np.int64, copy=False)
    emitted = int(np.count_nonzero(ts > watermark))
    if state is not None:
        rows = np.flatnonzero(ts > state.watermark)[state.emitted :]
        columns = {name: column[rows] for name, column in columns.items()}
    tuples = tuple(_in_open_windows(query.operators[0], stream, watermark) for stream in streams)
    if not any(map(len, tuples)):
        emitted = 0
    return columns, OpenWindows(tuples=tuples, watermark=watermark, emitted=emitted)


def _is_stateless(operator: Operator) -> bool:
    return not (operator.stores or operator.state.names or operator.expire)


def _in_open_windows(operator: Operator, stream: Stream, watermark: int) -> Stream:
    """Return the tuples that the processing of later tuples needs."""
    if operator.join is not None:
        return since(stream, watermark - operator.window.size)
    if operator.window.type == SINGLE:
        return since(stream, watermark + 1)
    return since(stream, earliest_left(operator.window, watermark))


def _concatenate(first: Stream, second: Stream) -> Stream:
    payload: dict[str, np.ndarray | ListColumn] = {}
    for name, column in first.payload.items():
        other = second.payload[name]
        if isinstance(column, ListColumn):
            assert isinstance(other, ListColumn)
            payload[name] = ListColumn.concatenate([column, other])
        else:
            assert not isinstance(other, ListColumn)
            payload[name] = np.concatenate([column, other])
    return replace(second, ts=np.concatenate([first.ts, second.ts]), payload=payload)
