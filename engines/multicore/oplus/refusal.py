"""Finds reasons why the native core cannot run a query of operators O+, before set-up."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.multicore import _core
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Input, ListColumn, Operator, Query
from streamlab.workloads.model.operators.program import SINGLE

MAX_WINDOWS = 1 << 21
"""Maximum number of windows of a run with one key per bucket, over all operators and their states.

With the default of 1,024 buckets this allows 2,048 overlapping windows, which take at least 192 MiB. For each of its
keys a tuple updates all overlapping windows, so the work per tuple becomes the limit before the memory.
"""

_LEAST_BYTES = 4 * 24
"""Minimum memory of a window in bytes: the smallest table has four entries, and a window has 24 bytes for its key,
boundary and state."""


def check_streams(data: Input | Dataset) -> str | None:
    """Return why the core cannot read an input's streams, or None.

    The core refuses too many streams, and streams with tuples of several inputs.
    """
    if len(data.streams) > _core.MAX_STREAMS:
        return f"a query reads at most {_core.MAX_STREAMS} streams, got {len(data.streams)}; merge streams"
    for stream in data.streams:
        if len(stream.kinds) != 1:
            return f"stream {stream.name} carries several inputs; give each input separate streams"
    return None


def check_time_range(data: Input, reach: int) -> str | None:
    """Return why event times plus `reach`, the sum of the windows' sizes, are out of range, or None."""
    for stream in data.streams:
        if len(stream) and max(-int(stream.ts[0]), int(stream.ts[-1])) + reach > _core.FARTHEST:
            return (
                f"stream {stream.name}: event times plus the windows' sizes exceed 2^61; use "
                "smaller times"
            )
    return None


def check_query(query: Query, data: Input, *, fused: bool, states: int = 1) -> str | None:
    """Return why the core cannot run a query on an input, or None.

    `fused` states whether the first operator is a join that runs over columns. For `states` see `check_windows`.
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
    keyed = query.operators[1:] if fused else query.operators
    reason = (
        check_windows(keyed, states) or check_streams(data) or check_time_range(data, query.reach)
    )
    if reason is not None:
        return reason
    for stream in data.streams:
        reason = _check_columns(operator, stream.name, stream.payload)
        if reason is not None:
            return reason
    if fused:
        kinds = [stream.kinds[0] for stream in data.streams]
        if kinds != [0, 1]:
            return (
                f"operator {operator.name}: a join over columns reads one stream for each of its "
                f"two inputs, in their order; got streams of inputs {kinds}; use "
                'join_form = "operator10", which reads any streams'
            )
    return None


def _check_columns(
    operator: Operator, where: str, payload: Mapping[str, npt.NDArray[Any] | ListColumn]
) -> str | None:
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


def max_open_windows(operator: Operator) -> int:
    """Return the maximum number of a key's open windows; all of them are in one table entry."""
    window = operator.window
    return 1 if window.type == SINGLE else -(-window.size // window.advance)


def check_windows(operators: Sequence[Operator], states: int = 1) -> str | None:
    """Return why a run's operators have too many windows, or None.

    The core has a table for each bucket of keys; an entry has all windows of a key.

    Args:
        operators: operators of the run that have window tables.
        states: number of states of each operator: 1 if its instances share one state, else one per instance.
    """
    keyed = list(operators)
    windows = [max_open_windows(operator) * operator.buckets for operator in keyed]
    total = sum(windows) * states
    if total <= MAX_WINDOWS:
        return None
    max_windows = max(windows)
    operator = keyed[windows.index(max_windows)]
    window, overlaps = operator.window, max_open_windows(operator)
    description = (
        f"operator {operator.name}: windows of size {window.size} that advance by "
        f"{window.advance} overlap {overlaps} times; with {operator.buckets} buckets of one key "
        f"each that is {max_windows} windows"
    )
    if states > 1:
        description += f", for each of {states} shared-nothing instances"
    if len(keyed) > 1:
        description += f", and {total} with the other operators"
    elif states > 1:
        description += f", and {total} in total"
    remedies = _remedies(operator, (MAX_WINDOWS - (total - max_windows * states)) // states)
    if states > 1 and sum(windows) <= MAX_WINDOWS:
        remedies.append(f"use at most {MAX_WINDOWS // sum(windows)} instances")
    if not remedies:
        remedies.append("use fewer buckets and a larger advance")
    return (
        f"{description}, at least {total * _LEAST_BYTES >> 20:,} MiB; "
        f"the maximum of a run is {MAX_WINDOWS} windows; {', or '.join(remedies)}"
    )


def _remedies(operator: Operator, most_windows: int) -> list[str]:
    """Return changes that limit an operator's windows per state to `most_windows`."""
    remedies = []
    if operator.buckets <= most_windows and max_open_windows(operator) > 1:
        min_advance = -(-operator.window.size // (most_windows // operator.buckets))
        remedies.append(f"let the window advance by at least {min_advance}")
    if max_open_windows(operator) <= most_windows:
        max_buckets = most_windows // max_open_windows(operator)
        remedies.append(f"use at most {max_buckets} buckets")
    return remedies
