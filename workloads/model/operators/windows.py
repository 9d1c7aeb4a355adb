"""Computes the time-based sliding windows that contain a tuple, and makes their instances.

A window instance is [l, l + WS) with l = n x WA for an integer n, which may be negative. The windows
that contain a time ts have l <= ts < l + WS: lefts from `earliest_left` to `latest_left` in steps of
WA. Divisions round down, so negative times behave like positive ones.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.operators.program import FLUSH, Operator, Query, Window
from streamlab.workloads.model.streams.records import RecordType, record_class, types_of
from streamlab.workloads.model.streams.stream import Input

LARGEST_TIME = 1 << 62
"""Bound on the magnitude of event times plus window sizes: sums and differences of two such values
fit int64 in compiled code."""

END_OF_ARRIVALS = 1 << 60
"""End time of an input with arrival times: later than any arrival, because a run does not know its last arrival."""

WINDOW_FIELDS = ("key", "left", "tuples")
"""Fields of window instances in addition to the fields of their state."""


def earliest_left(window: Window, ts: int) -> int:
    """Return the left of the earliest window that contains `ts`: the smallest l with l + WS > ts."""
    return ((ts - window.size) // window.advance + 1) * window.advance


def latest_left(window: Window, ts: int) -> int:
    """Return the left of the latest window that contains `ts`."""
    return ts // window.advance * window.advance


def flush_end(program: object, last_times: Iterable[int]) -> int | None:
    """Return the time at which to cut an input so that its end closes all windows; None if nothing is flushed.

    The watermark then reaches the last tuple's time plus the sizes of all windows. Each operator closes the windows
    that contain its last tuple, and the next operator the windows that contain these outputs. A single window that
    keeps its state is reported at the boundaries up to that time, not forever.

    Args:
        program: A program of any model; only a query with `at_end="flush"` is flushed.
        last_times: The time of the last event of each stream with events.
    """
    if not isinstance(program, Query) or program.at_end != FLUSH:
        return None
    last = max(last_times, default=None)
    return None if last is None else last + program.reach + 1


def flushed(program: object, data: Input) -> Input:
    """Return the input, cut at `flush_end` if its end flushes the program; an input that is cut stays as it is."""
    if data.until_ts is not None:
        return data
    return replace(
        data, until_ts=flush_end(program, (int(s.ts[-1]) for s in data.streams if len(s)))
    )


def check_times(query: Query, data: Input) -> None:
    """Check that event times are small enough for window boundaries to fit int64.

    |ts| plus the window sizes of all operators must be below 2**62, and so must |until_ts|. Every engine
    checks this when it loads an input, even plain Python, so that all engines accept the same inputs.

    Raises:
        ModelError: A time is too large; the message names the stream.
    """
    spans = [(s.name, int(s.ts[0]), int(s.ts[-1])) for s in data.streams if len(s)]
    check_spans(query, spans, data.until_ts)


def check_spans(query: Query, spans: Iterable[tuple[str, int, int]], until_ts: int | None) -> None:
    """Check event times like `check_times`; `spans` has name, first and last time of each stream with events."""
    reach = query.reach
    if until_ts is not None and abs(until_ts) + reach >= LARGEST_TIME:
        raise ModelError(_too_large(query, f"the end of the input, {until_ts}", reach))
    for name, first, last in spans:
        furthest = max(-first, last)
        if furthest + reach >= LARGEST_TIME:
            where = f"stream {name} with times up to {furthest} from 0"
            raise ModelError(_too_large(query, where, reach))


def _too_large(query: Query, where: str, reach: int) -> str:
    return (
        f"query {query.name}: {where} plus windows of {reach} in all exceed 2**62; "
        "use a coarser unit of time, or an origin closer to the data"
    )


def window_maker(operator: Operator) -> Callable[[int, int], tuple[Any, ...]]:
    """Return `make(key, left)`, which makes the window instances of a key, one for each input."""
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
    """Remove the tuples before the windows: the default f_S."""
    for instance in instances:
        tuples, left = instance.tuples, instance.left
        while tuples and tuples[0].ts < left:
            tuples.popleft()


def is_empty(instances: tuple[Any, ...], fields: tuple[str, ...], stores: bool) -> bool:
    """Return whether all states are zero and without tuples, so that their key can be removed."""
    for instance in instances:
        if stores and instance.tuples:
            return False
        for field in fields:
            value = getattr(instance, field)
            if value.any() if isinstance(value, np.ndarray) else value != 0:
                return False
    return True


class _WindowRecord(RecordType):
    """Makes state records of an operator that also have the fields of window instances."""

    def __init__(self, operator: Operator) -> None:
        super().__init__(operator.name, operator.state)
        # Without stores the records lack `tuples`, so that using it raises an AttributeError.
        extra = WINDOW_FIELDS if operator.stores else WINDOW_FIELDS[:-1]
        self.cls = record_class(operator.name, (*extra, *self.fields), types_of(operator.state))
