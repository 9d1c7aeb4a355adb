"""Says why the native core cannot run a query of operators O+, before anything is set up."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.oplus.tables import too_many_windows
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Input, ListColumn, Operator, Query


def wrong_streams(data: Input | Dataset) -> str | None:
    """Return why streams are refused: too many, or one with tuples of several inputs; or None."""
    if len(data.streams) > _core.MOST_STREAMS:
        return f"a query reads at most {_core.MOST_STREAMS} streams, got {len(data.streams)}"
    for stream in data.streams:
        if len(stream.kinds) != 1:
            return (
                f"stream {stream.name} carries several inputs; give each input streams of its own"
            )
    return None


def refusal(query: Query, data: Input, *, fused: bool, states: int = 1) -> str | None:
    """Return why the core cannot run a query on an input, or None.

    Args:
        query: what to run.
        data: on which input.
        fused: whether its first operator is a join that runs over columns.
        states: of each operator, as `too_many_windows` counts them.
    """
    for operator in query.operators:
        if operator.stores and operator.lists and not (fused and operator.join is not None):
            return (
                f"operator {operator.name} stores tuples that have the lists "
                f"{sorted(operator.lists)}; the core stores scalar fields only: take what is "
                "needed of a list into fields, or use the reference engine"
            )
    for operator in query.operators[1:]:
        if operator.stores:
            return (
                f"operator {operator.name} stores tuples behind another operator, which the core "
                "does for the first one only; use the reference engine"
            )
    operator = query.operators[0]
    reach = sum(each.window.size for each in query.operators)
    keyed = query.operators[1:] if fused else query.operators
    reason = too_many_windows(keyed, states) or wrong_streams(data)
    if reason is not None:
        return reason
    for stream in data.streams:
        if len(stream) and max(-int(stream.ts[0]), int(stream.ts[-1])) + reach > _core.FARTHEST:
            return f"stream {stream.name}: event times reach beyond 2^61 with the windows' sizes"
        reason = _mistyped(operator, stream.name, stream.payload)
        if reason is not None:
            return reason
    if fused:
        kinds = [stream.kinds[0] for stream in data.streams]
        if kinds != [0, 1]:
            return (
                f"operator {operator.name}: a join over columns reads one stream for each of its "
                f"two inputs, in their order; this input has streams of the inputs {kinds}; "
                'join_form = "operator10" reads any'
            )
    return None


def _mistyped(operator: Operator, where: str, payload: Mapping[str, Any]) -> str | None:
    for name, column in payload.items():
        lists = isinstance(column, ListColumn)
        declared = operator.lists if lists else dict(_scalars(operator))
        if name in declared and column.dtype != declared[name]:
            return (
                f"stream {where}: column {name} is {column.dtype}, operator {operator.name} "
                f"declares {declared[name]}"
            )
        if name in (*(operator.fields.names or ()), *operator.lists) and name not in declared:
            return f"stream {where}: column {name} is {'a list' if lists else 'no list'}"
    return None


def _scalars(operator: Operator) -> list[tuple[str, np.dtype[Any]]]:
    return [(name, operator.fields[name]) for name in operator.fields.names or ()]


def unshared(query: Query) -> str | None:
    """Return why instances that share nothing cannot run a query of several operators, or None."""
    count = len(query.operators)
    if count == 1:
        return None
    return f"query {query.name} has {count} operators; shared-nothing instances run one: use vsn"
