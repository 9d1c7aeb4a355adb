"""Checks answers of arrival-time windows by invariants: no oracle knows when the rows arrive.

Each row counts once for each window that contains the row. So the results of all windows add up to known totals: the
result of one window over all rows (`streamlab.workloads.model.reference.totals_of`). No row counts before its due
time, or after the end of the run.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.declarative.declaration import Function, WindowStep
from streamlab.workloads.model import Columns

IntArray = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """The bounds of the arrival times of an input's rows: from the due time to the end of the run.

    Attributes:
        due_ns: int64[n], due times after the load's start, ascending.
        end_ns: length of the run, or of the load if longer.
        tick_ns: unit of arrival times.
    """

    due_ns: IntArray
    end_ns: int
    tick_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Counts of rows, and the keys of windows.

    Attributes:
        window_rows: int64[m], rows of each result.
        total_rows: int64[k], rows of each key, counted once for each window that contains the row.
        group: int64[m], index of each result's key.
    """

    window_rows: IntArray
    total_rows: IntArray
    group: IntArray


def violated_invariant(
    step: WindowStep, keys: tuple[str, ...], answer: Columns, totals: Columns, arrivals: Arrivals
) -> str | None:
    """Return the first invariant that an answer violates, with the values; None: all hold.

    Args:
        step: tumbling or sliding windows with named aggregates, one of them a count.
        keys: the key columns.
        answer: the columns `ts`, the keys and the aggregates.
        totals: the same columns, with one row per key.
        arrivals: the due times of the rows, and the end of the run, between which they arrived.

    Raises:
        LookupError, TypeError, ValueError: the answer lacks a column, or its columns differ in length or type.
    """
    assert step.result is not None, "windows of arrival time have named aggregates"
    assert step.size % step.advance == 0, "windows of arrival time are sliced evenly"
    if len({len(answer[name]) for name in totals}) > 1:
        raise ValueError("the columns have different lengths")
    ends = answer["ts"].astype(np.int64)
    if (ends % step.advance != 0).any():
        return f"a window ends at {_first(ends, ends % step.advance != 0)}, no multiple of {step.advance}"
    if (np.diff(ends) < 0).any():
        return f"a window that ends at {_first(ends[1:], np.diff(ends) < 0)} follows a later one"
    group = _match_keys(answer, totals, keys)
    if (group < 0).any():
        key = {name: _first(answer[name], group < 0) for name in keys}
        return f"the key {key} is not in the input"
    order = np.lexsort([ends, group])
    if ((np.diff(ends[order]) == 0) & (np.diff(group[order]) == 0)).any():
        return "a window of a key has two results"
    count = next(name for name, part in step.result.items() if part.function is Function.COUNT)
    overlaps = step.size // step.advance
    rows = Rows(
        window_rows=answer[count].astype(np.int64),
        total_rows=totals[count].astype(np.int64) * overlaps,
        group=group,
    )
    if (rows.window_rows < 1).any():
        return f"a window has {_first(rows.window_rows, rows.window_rows < 1)} rows"
    problem = _find_wrong_time(step, ends, rows.window_rows, arrivals)
    if problem is not None:
        return problem
    for name in (count, *step.result):  # the count first: it checks that each key has windows
        function = step.result[name].function
        wrong = _find_wrong_keys(function, answer[name], totals[name], rows, overlaps)
        if wrong.any():
            index = int(np.flatnonzero(wrong)[0])
            key = {column: totals[column][index].item() for column in keys}
            return (
                f"{name} ({function.value}) of all rows{f' of {key}' if keys else ''} is {totals[name][index]}, with "
                f"each in {overlaps} windows; the windows' {_describe_values(function, answer[name][group == index])}"
            )
    return None


def _first(values: npt.NDArray[Any], mask: Flags) -> Any:
    return values[mask][0].item()


def _describe_values(function: Function, values: npt.NDArray[Any]) -> str:
    if function in (Function.COUNT, Function.SUM):
        return f"add up to {values.sum()}"
    return f"lie between {values.min()} and {values.max()}"


def _match_keys(answer: Columns, totals: Columns, keys: tuple[str, ...]) -> IntArray:
    """Return, for each row of the answer, the index of its key's row in `totals`; -1 if the key is missing."""
    totals_rows = len(totals["ts"])
    numbers = np.zeros(totals_rows + len(answer["ts"]), dtype=np.int64)
    for name in keys:
        values = np.concatenate([totals[name], answer[name]])
        column = np.unique(values, return_inverse=True)[1].astype(np.int64)
        # Number the combinations anew for each column, so that the product fits in 64 bits.
        numbers = np.unique(numbers * len(values) + column, return_inverse=True)[1].astype(np.int64)
    row = np.full(len(numbers), -1, dtype=np.int64)
    row[numbers[:totals_rows]] = np.arange(totals_rows)
    return row[numbers[totals_rows:]]


def _find_wrong_time(
    step: WindowStep, ends: IntArray, counts: IntArray, arrivals: Arrivals
) -> str | None:
    """Return a text if rows count before they were due, or if a window began after the run's end; else None."""
    if not len(ends):
        return None
    last_tick, overlaps = arrivals.end_ns // arrivals.tick_ns, step.size // step.advance
    if int(ends[-1]) - step.size > last_tick:
        return f"a window ends at {ends[-1]}, so it began after the end of the run, {last_tick}"
    distinct_ends, begins = np.unique(ends, return_index=True)
    row_counts = np.cumsum(np.add.reduceat(counts, begins))
    ends_ns = np.minimum(distinct_ends, last_tick + step.size) * arrivals.tick_ns
    due_rows = np.searchsorted(arrivals.due_ns, ends_ns, side="left")
    is_early = row_counts > due_rows * overlaps
    if is_early.any():
        index = int(np.flatnonzero(is_early)[0])
        return (
            f"the windows that end by {distinct_ends[index]} count {row_counts[index]:,} rows, but only "
            f"{due_rows[index]:,} were due by then, "
            f"each in at most {overlaps} windows"
        )
    return None


def _find_wrong_keys(
    function: Function,
    values: npt.NDArray[Any],
    totals: npt.NDArray[Any],
    rows: Rows,
    overlaps: int,
) -> Flags:
    """Return, for each key, whether the results of the key's windows contradict its total."""
    if function is Function.MEAN:
        return _find_differences(values * rows.window_rows, totals * rows.total_rows, rows)
    if function is Function.SUM and totals.dtype.kind == "f":
        return _find_differences(values, totals * overlaps, rows)
    if function in (Function.COUNT, Function.SUM):
        different: Flags = _sum_by_key(values, rows.group, len(totals)) != totals * overlaps
        return different
    order = np.lexsort([values, rows.group])
    begins = np.searchsorted(rows.group[order], np.arange(len(totals)))
    lowest, highest = values[order][begins], values[order][[*(begins[1:] - 1), -1]]
    if function is Function.MIN:
        wrong: Flags = lowest != totals
    elif function is Function.MAX:
        wrong = highest != totals
    else:  # the percentile over all rows lies between the lowest and the highest percentile of the windows
        wrong = (lowest > totals) | (totals > highest)
    wrong &= ~(_is_nan(highest) | _is_nan(totals))  # NaN is the highest
    return wrong


def _sum_by_key(values: npt.NDArray[Any], group: IntArray, number: int) -> npt.NDArray[Any]:
    sums = np.zeros(number, dtype=values.dtype)
    np.add.at(sums, group, values)
    return sums


def _is_nan(values: npt.NDArray[Any]) -> Flags:
    flags: Flags = values != values
    return flags


def _find_differences(parts: npt.NDArray[Any], totals: npt.NDArray[Any], rows: Rows) -> Flags:
    """Return where sums of floats differ by more than rounding (docs/model.md, Floats)."""
    sums = _sum_by_key(parts, rows.group, len(totals))
    size = np.maximum(_sum_by_key(np.abs(parts), rows.group, len(totals)), np.abs(totals))
    with np.errstate(invalid="ignore"):
        is_far: Flags = np.abs(sums - totals) > rows.total_rows * 2.0**-52 * size
    is_far |= _is_nan(sums) != _is_nan(totals)
    return is_far
