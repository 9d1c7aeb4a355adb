"""Time-based sliding windows: which ones a tuple falls in, and the records of their instances.

A window instance is [l, l + WS) with l = n x WA for an integer n, which may be negative. A tuple of
time ts falls in those with l <= ts < l + WS: the lefts from `earliest_left` to `latest_left` in
steps of WA. Divisions round down, so that times below zero behave as those above.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.operators.program import Operator, Query, Window
from streamlab.workloads.model.streams.records import RecordType, record_class, types_of
from streamlab.workloads.model.streams.stream import Input

LARGEST_TIME = 1 << 62
"""Event times plus window sizes stay below this in absolute value, so that adding and subtracting
two of them cannot leave int64 in compiled code."""

OWN = ("key", "left", "tuples")
"""What window instances have beside the fields of their state."""


def earliest_left(window: Window, ts: int) -> int:
    """Return the left of the earliest window that holds `ts`: the smallest l with l + WS > ts."""
    return ((ts - window.size) // window.advance + 1) * window.advance


def latest_left(window: Window, ts: int) -> int:
    """Return the left of the latest window that holds `ts`."""
    return ts // window.advance * window.advance


def check_times(query: Query, data: Input) -> None:
    """Refuse an input whose event times are so large that window boundaries could overflow int64.

    The law: |ts| plus the window sizes of all operators of the query is below 2**62, and so is
    |until_ts|. Plain Python would not mind; every engine checks it all the same when it loads an
    input, so that they agree on what they accept.

    Raises:
        ModelError: it does not hold; names the stream.
    """
    spans = [(s.name, int(s.ts[0]), int(s.ts[-1])) for s in data.streams if len(s)]
    check_spans(query, spans, data.until_ts)


def check_spans(query: Query, spans: Iterable[tuple[str, int, int]], until_ts: int | None) -> None:
    """Do as `check_times` where no input is in memory.

    Args:
        query: what is asked of the input.
        spans: name, first and last event time of each stream that has events.
        until_ts: where the input is cut; None: nowhere.

    Raises:
        ModelError: as `check_times`.
    """
    reach = sum(operator.window.size for operator in query.operators)
    if until_ts is not None and abs(until_ts) + reach >= LARGEST_TIME:
        raise ModelError(_too_large(query, f"the end of the input, {until_ts}", reach))
    for name, first, last in spans:
        furthest = max(-first, last)
        if furthest + reach >= LARGEST_TIME:
            where = f"stream {name} with times up to {furthest} from 0"
            raise ModelError(_too_large(query, where, reach))


def _too_large(query: Query, where: str, reach: int) -> str:
    return (
        f"query {query.name}: {where} and windows of {reach} in all go beyond 2**62; "
        "use a coarser unit of time, or an origin nearer to the data"
    )


def window_maker(operator: Operator) -> Callable[[int, int], tuple[Any, ...]]:
    """Return what makes the window instances of a key: `make(key, left)`, one for each input."""
    record = _WindowRecord(operator)
    inputs = range(len(operator.inputs))
    stores = operator.stores

    def make(key: int, left: int) -> tuple[Any, ...]:
        instances = tuple(record.zeroed() for _ in inputs)
        for instance in instances:
            instance.key = key
            instance.left = left
            if stores:
                instance.tuples = deque()
        return instances

    return make


def purge(instances: tuple[Any, ...]) -> None:
    """Remove the tuples that the windows have left behind: the default f_S."""
    for instance in instances:
        tuples, left = instance.tuples, instance.left
        while tuples and tuples[0].ts < left:
            tuples.popleft()


def is_empty(instances: tuple[Any, ...], fields: tuple[str, ...], stores: bool) -> bool:
    """Return whether all states are zero and hold no tuples, so that their key can be removed."""
    for instance in instances:
        if stores and instance.tuples:
            return False
        for field in fields:
            value = getattr(instance, field)
            if value.any() if isinstance(value, np.ndarray) else value != 0:
                return False
    return True


class _WindowRecord(RecordType):
    """The state record of an operator, with room for what window instances have of their own."""

    def __init__(self, operator: Operator) -> None:
        super().__init__(operator.name, operator.state)
        # Without stores there is no attribute `tuples`: using it is an error that says so.
        own = OWN if operator.stores else OWN[:-1]
        self.cls = record_class(operator.name, (*own, *self.fields), types_of(operator.state))
