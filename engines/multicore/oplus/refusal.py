"""Finds reasons why the native core cannot run a query of operators O+, before set-up."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.oplus.tables import check_windows
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Input, ListColumn, Operator, Query


def check_streams(data: Input | Dataset) -> str | None:
    """Return why the core cannot read an input's streams, or None.

    It refuses too many streams, and streams with tuples of several inputs.
    """
    if len(data.streams) > _core.MOST_STREAMS:
        return f"a query reads at most {_core.MOST_STREAMS} streams, got {len(data.streams)}"
    for stream in data.streams:
        if len(stream.kinds) != 1:
            return f"stream {stream.name} carries several inputs; give each input separate streams"
    return None


def check_query(query: Query, data: Input, *, fused: bool, states: int = 1) -> str | None:
    """Return why the core cannot run a query on an input, or None.

    `fused`: its first operator is a join that runs over columns. `states`: see `check_windows`.
    """
    for operator in query.operators:
        if operator.stores and operator.lists and not (fused and operator.join is not None):
            return (
                f"operator {operator.name} stores tuples with the lists {sorted(operator.lists)}, "
                "but the core stores only scalar fields; copy the needed values into fields, or "
                "use the reference engine"
            )
    for operator in query.operators[1:]:
        if operator.stores:
            return (
                f"operator {operator.name} stores tuples after another operator, but the core "
                "stores tuples only in the first operator; use the reference engine"
            )
    operator = query.operators[0]
    reach = sum(each.window.size for each in query.operators)
    keyed = query.operators[1:] if fused else query.operators
    reason = check_windows(keyed, states) or check_streams(data)
    if reason is not None:
        return reason
    for stream in data.streams:
        if len(stream) and max(-int(stream.ts[0]), int(stream.ts[-1])) + reach > _core.FARTHEST:
            return (
                f"stream {stream.name}: event times plus the windows' sizes exceed 2^61; use "
                "smaller times"
            )
        reason = _check_columns(operator, stream.name, stream.payload)
        if reason is not None:
            return reason
    if fused:
        kinds = [stream.kinds[0] for stream in data.streams]
        if kinds != [0, 1]:
            return (
                f"operator {operator.name}: a join over columns reads one stream for each of its "
                f"two inputs, in their order; the streams are of inputs {kinds}; give "
                'join_form = "operator10", which reads any streams'
            )
    return None


def _check_columns(operator: Operator, where: str, payload: Mapping[str, Any]) -> str | None:
    for name, column in payload.items():
        lists = isinstance(column, ListColumn)
        declared = operator.lists if lists else dict(_scalars(operator))
        if name in declared and column.dtype != declared[name]:
            return (
                f"stream {where}: column {name} is {column.dtype}, but operator {operator.name} "
                f"declares {declared[name]}"
            )
        if name in (*(operator.fields.names or ()), *operator.lists) and name not in declared:
            actual, expected = ("lists", "numbers") if lists else ("numbers", "lists")
            return (
                f"stream {where}: column {name} holds {actual}, but operator {operator.name} "
                f"declares {expected}"
            )
    return None


def _scalars(operator: Operator) -> list[tuple[str, np.dtype[Any]]]:
    return [(name, operator.fields[name]) for name in operator.fields.names or ()]


def check_single(query: Query, variant: str) -> str | None:
    """Return why a variant that runs queries of one operator cannot run a query, or None."""
    if len(query.operators) == 1:
        return None
    return (
        f"query {query.name} has {len(query.operators)} operators; variant {variant} runs queries of "
        "one operator; use variant vsn"
    )
