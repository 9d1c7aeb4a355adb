"""Rejects a dataset with numbers beyond the limits that its workload declares.

For most datasets the extreme values in the Parquet footers and the number of rows suffice. Columns are read only if
these facts allow a number beyond a limit.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from streamlab.workloads.datasets import pq
from streamlab.workloads.datasets.dataset import Dataset, DatasetStream
from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import Input, Workload
from streamlab.workloads.model.streams.limits import IntArray, Limit

_HALF = 32
"""Bits of the low half of a sum."""
_LOW = (1 << _HALF) - 1


def limit_violation(workload: Workload, dataset: Dataset) -> str:
    """Describe the first value of a dataset that is outside a limit of its workload; return "" if all are within."""
    doubtful = [limit for limit in workload.limits if not _surely_within(limit, dataset.streams)]
    if not doubtful:
        return ""
    data = dataset.load()
    return next(filter(None, (first_violation(limit, data) for limit in doubtful)), "")


def first_violation(limit: Limit, data: Input) -> str:
    """Describe the first event, in total order, that takes an input beyond a limit; return "" if none does."""
    fields = dict.fromkeys([*limit.reads, *([limit.field] if limit.field else [])])
    events = total_order(data, np.dtype([(name, np.int64) for name in fields]))
    if limit.terms is not None:
        terms = limit.terms(events)
    elif limit.field is not None:
        terms = np.asarray(events.payload[limit.field])
    else:
        terms = np.ones(len(events.ts), dtype=np.int64)
    groups = np.arange(len(terms)) if limit.groups is None else limit.groups(events)
    positive, negative = (_sums(part(terms, 0), groups) for part in (np.maximum, np.minimum))
    above, below = _excess(positive, limit.highest) > 0, _excess(negative, limit.lowest) < 0
    violations = np.flatnonzero(above | below)
    if not len(violations):
        return ""
    row = int(violations[0])
    sums, side, bound = positive, "maximum", limit.highest
    if terms[row] < 0:
        sums, side, bound = negative, "minimum", limit.lowest
    total = (int(sums[0][row]) << _HALF) + int(sums[1][row])
    value = "" if limit.field is None else f"{limit.field} = {events.payload[limit.field][row]}: "
    return (
        f"{_describe_position(data, row)}, {value}{limit.quantity} is {total}, but the {side} is {bound}; "
        f"{limit.remedy}"
    )


def _surely_within(limit: Limit, streams: Sequence[DatasetStream]) -> bool:
    """Return whether the files' footers prove that all values and sums are in range."""
    rows = sum(stream.rows for stream in streams)
    lowest, highest = (1, 1) if limit.field is None else _extremes(limit.field, streams)
    max_terms = 1 if limit.groups is None else rows
    return (
        min(lowest, 0) * max_terms >= limit.lowest and max(highest, 0) * max_terms <= limit.highest
    )


def _extremes(field: str, streams: Sequence[DatasetStream]) -> tuple[int, int]:
    """Return the smallest and largest of 0 and a field's values; the range of int64 if a footer lacks statistics."""
    extremes = [0]
    for stream in streams:
        if field not in dict(stream.columns):
            continue
        for metadata in map(pq.read_metadata, stream.paths):
            column = metadata.schema.names.index(field)
            for group in range(metadata.num_row_groups):
                statistics = metadata.row_group(group).column(column).statistics
                if statistics is None or not statistics.has_min_max:
                    return -(2**63), 2**63 - 1
                extremes += [int(statistics.min), int(statistics.max)]
    return min(extremes), max(extremes)


def _sums(terms: IntArray, groups: IntArray) -> tuple[IntArray, IntArray]:
    """Return for each event the sum of its group's terms so far, split into a high and a low half.

    Sums of up to 2^31 halves of 32 bits cannot overflow 64 bits.
    """
    order = np.argsort(groups, kind="stable")
    first = np.flatnonzero(np.diff(groups[order], prepend=groups[order][:1] - 1))
    lengths = np.diff(first, append=len(order))
    halves = []
    for half in (terms >> _HALF, terms & _LOW):
        upto = np.cumsum(half[order])
        upto -= np.repeat(upto[first] - half[order][first], lengths)
        halves.append(np.empty_like(upto))
        halves[-1][order] = upto
    high, low = halves
    return high + (low >> _HALF), low & _LOW


def _excess(sums: tuple[IntArray, IntArray], bound: int) -> IntArray:
    """Return numbers with the sign of each sum minus a bound."""
    high, low = sums
    return np.where(high == bound >> _HALF, low - (bound & _LOW), high - (bound >> _HALF))


def _describe_position(data: Input, row: int) -> str:
    """Return the stream and row at a position of the total order, in words."""
    ts = np.concatenate([stream.ts for stream in data.streams])
    position = int(np.argsort(ts, kind="stable")[row])
    ends = accumulate(len(stream) for stream in data.streams)
    stream = next(s for s, end in zip(data.streams, ends, strict=True) if position < end)
    begin = sum(len(s) for s in data.streams[: data.streams.index(stream)])
    return f"stream {stream.name}, row {position - begin} (ts {ts[position]})"
