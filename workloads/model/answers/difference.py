"""Classifies the differences of two outputs: missing, duplicate, out-of-order and wrong rows."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.answers.float_match import Deviation
from streamlab.workloads.model.answers.foata import (
    CHUNK,
    HashArray,
    Relation,
    are_equal,
    levels,
    row_hashes,
)
from streamlab.workloads.model.streams.stream import Columns, IntArray

Fault = Literal["missing", "duplicate", "out of order", "wrong"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Describes one row that differs.

    Attributes:
        fault: Kind of the fault.
        text: The row, in words.
        position: Its index in the actual output; for a missing row, in the expected output.
    """

    fault: Fault
    text: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Counts the differences between two outputs, compared as data traces (see `trace`).

    Attributes:
        expected_rows, actual_rows: Lengths of both outputs.
        missing: Expected rows without an equal actual row.
        duplicate: Rows that occur more often than expected.
        out_of_order: Rows in the wrong place among the rows that they depend on, after rows with other
            faults are removed. If no row is in a wrong place but records must leave in order of time,
            rows with a lower time than an earlier row.
        wrong: Rows that equal no expected row. If an expected row of the same time and tag is missing,
            the two rows are counted as one wrong row, and not as a missing row.
        rounded: Number of `wrong` rows that differ from the expected row only in the last bits of floats.
        examples: Some of the differing rows.
        deviations: Largest differences of float fields that need not be equal, by name.
    """

    expected_rows: int
    actual_rows: int
    missing: int = 0
    duplicate: int = 0
    out_of_order: int = 0
    wrong: int = 0
    rounded: int = 0
    examples: tuple[Example, ...] = ()
    deviations: Mapping[str, Deviation] = field(default_factory=dict)

    @property
    def rounding(self) -> bool:
        """Whether the answers differ in the last bits of floats only."""
        others = self.missing or self.duplicate or self.out_of_order
        return self.rounded > 0 and self.rounded == self.wrong and not others

    @property
    def equal(self) -> bool:
        """Whether both outputs are the same data trace."""
        return not (self.missing or self.duplicate or self.out_of_order or self.wrong)

    def render(self) -> str:
        """Return the difference as text, with one line for each example."""
        if self.equal:
            return f"equal: {self.actual_rows:,} rows"
        counts = (
            f"{self.missing:,} missing, {self.duplicate:,} duplicate, "
            f"{self.out_of_order:,} out of order, {self.wrong:,} wrong"
        )
        if self.rounded:
            counts += f" ({self.rounded:,} in the last bits of floats only)"
        lines = [f"{self.actual_rows:,} rows, expected {self.expected_rows:,}: {counts}"]
        lines += [f"  {example.fault:<12} {example.text}" for example in self.examples]
        total = self.missing + self.duplicate + self.out_of_order + self.wrong
        if total > len(self.examples):
            lines.append(f"  and {total - len(self.examples):,} more")
        return "\n".join(lines)


def classify(
    expected: Columns,
    actual: Columns,
    relation: Relation,
    *,
    whole: Columns,
    first_row: int,
    common: int,
    limit: int,
) -> Difference:
    """Classify the differing parts of two outputs, with at most `limit` examples.

    Both parts begin at row `first_row` of their output; `common` rows before and after them are equal. An
    excess row is a duplicate if it occurs anywhere in `whole`, the whole expected output.
    """
    left, _ = row_hashes(expected)
    right, _ = row_hashes(actual)
    left_only, right_only = _unmatched_rows(left, right), _unmatched_rows(right, left)
    duplicate = np.zeros(len(right), dtype=np.bool_)
    duplicate[right_only] = _occurs(right[right_only], whole)
    odd = right_only[~duplicate[right_only]]
    place_left = _place_hashes(expected, relation, left_only)
    place_right = _place_hashes(actual, relation, odd)
    replaced_by = _pair(place_left, place_right)
    missing = left_only[replaced_by < 0]
    examples: list[Example] = []

    def add(fault: Fault, row: int, detail: str = "") -> None:
        text = f"row {first_row + row}: {describe_row(actual, row)}{detail}"
        examples.append(Example(fault=fault, text=text, position=first_row + row))

    for row in missing[:limit].tolist():
        text = f"expected row {first_row + row}: {describe_row(expected, row)}"
        examples.append(Example(fault="missing", text=text, position=first_row + row))
    for row in np.flatnonzero(duplicate)[:limit].tolist():
        add("duplicate", row)
    replaced = {int(odd[j]): int(left_only[i]) for i, j in enumerate(replaced_by) if j >= 0}
    for row in odd[:limit].tolist():
        detail = ", nothing expected at that time and tag"
        if row in replaced:
            detail = f", expected {describe_row(expected, replaced[row])}"
            detail += describe_rounding(expected, replaced[row], actual, row)
        add("wrong", row, detail)
    common_left = np.delete(np.arange(len(left)), left_only)
    common_right = np.delete(np.arange(len(right)), right_only)
    moved, moved_from = _displaced_rows(expected, actual, relation, common_left, common_right)
    for row, expected_row in zip(moved[:limit].tolist(), moved_from[:limit].tolist(), strict=True):
        add("out of order", row, f", expected as row {first_row + expected_row}")
    return Difference(
        expected_rows=len(left) + common,
        actual_rows=len(right) + common,
        missing=len(missing),
        duplicate=int(duplicate.sum()),
        out_of_order=len(moved),
        wrong=len(odd),
        rounded=_count_rounded(expected, actual, left_only[replaced_by >= 0], odd, replaced_by),
        examples=spread(examples, limit),
    )


def spread(examples: list[Example], limit: int) -> tuple[Example, ...]:
    """Return at most `limit` examples, taking faults in turn so that no fault hides another."""
    turns: Counter[Fault] = Counter()
    ranked = []
    for example in examples:
        ranked.append((turns[example.fault], example))
        turns[example.fault] += 1
    ranked.sort(key=lambda pair: pair[0])
    return tuple(sorted((example for _, example in ranked[:limit]), key=lambda e: e.position))


def _unmatched_rows(hashes: HashArray, other_hashes: HashArray) -> IntArray:
    """Return, ascending, the excess rows of `hashes` over `other_hashes`; of equal rows, the last are in excess."""
    values, counts = np.unique(hashes, return_counts=True)
    other_values, other_counts = np.unique(other_hashes, return_counts=True)
    position = np.minimum(np.searchsorted(other_values, values), max(len(other_values) - 1, 0))
    allowed = np.zeros(len(values), dtype=np.int64)
    if len(other_values):
        shared = other_values[position] == values
        allowed[shared] = other_counts[position[shared]]
    over = counts > allowed
    values, allowed = values[over], allowed[over]
    if not len(values):
        return np.empty(0, dtype=np.int64)
    # Only rows with an excess value matter below; usually these are few.
    rank = np.minimum(np.searchsorted(values, hashes), len(values) - 1)
    rows = np.flatnonzero(values[rank] == hashes)
    rank = rank[rows]
    order = np.argsort(rank, kind="stable")
    group = np.bincount(rank, minlength=len(values))
    starts = np.repeat(np.cumsum(group) - group, group)
    occurrence = np.empty(len(rows), dtype=np.int64)
    occurrence[order] = np.arange(len(rows)) - starts
    return rows[occurrence >= allowed[rank]]


def _occurs(hashes: HashArray, columns: Columns) -> npt.NDArray[np.bool_]:
    """Return for each hash whether a row of `columns` has it; reads `columns` in chunks."""
    values, inverse = np.unique(hashes, return_inverse=True)
    occurs = np.zeros(len(values), dtype=np.bool_)
    if len(values):
        for begin in range(0, len(columns["ts"]), CHUNK):
            chunk = {name: column[begin : begin + CHUNK] for name, column in columns.items()}
            chunk_hashes = row_hashes(chunk)[0]
            position = np.minimum(np.searchsorted(values, chunk_hashes), len(values) - 1)
            occurs[position[values[position] == chunk_hashes]] = True
    return occurs[inverse]


def _count_rounded(
    expected: Columns, actual: Columns, replaced: IntArray, odd: IntArray, replaced_by: IntArray
) -> int:
    """Return the number of wrong rows that differ only in the last bits of floats."""
    wrong = odd[replaced_by[replaced_by >= 0]]
    near = [are_nearly_equal(expected[name][replaced], actual[name][wrong]) for name in expected]
    return int(np.logical_and.reduce(near).sum())


def are_nearly_equal(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which values are equal, or are floats that agree in half of their digits."""
    near = are_equal(left, right)
    if left.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.maximum(np.abs(left), np.abs(right))
            near |= np.isfinite(size) & (
                np.abs(left - right) <= np.sqrt(np.finfo(left.dtype).eps) * size
            )
    return near


def describe_rounding(expected: Columns, row: int, actual: Columns, other: int) -> str:
    """Return in words how much the floats of two rows differ, or "" if more than their last bits differ."""
    places = slice(row, row + 1), slice(other, other + 1)
    parts = []
    for name, column in expected.items():
        left, right = column[places[0]], actual[name][places[1]]
        if not are_nearly_equal(left, right).all():
            return ""
        if column.dtype.kind == "f" and left[0] != right[0] and not np.isnan(left[0]):
            gap, size = abs(float(left[0]) - float(right[0])), max(abs(left[0]), abs(right[0]))
            ulps = round(gap / float(np.spacing(size)))
            parts.append(f"{name} differs by {ulps:,} ulp ({gap / float(size):.2g} of it)")
    return f": {', '.join(parts)}" if parts else ""


def _place_hashes(columns: Columns, relation: Relation, rows: IntArray) -> HashArray:
    """Return a hash of the time and tag of each of `rows`."""
    some = {name: column[rows] for name, column in columns.items()}
    return row_hashes({"ts": some["ts"], "kind": relation.kinds(some), "key": relation.keys(some)})[
        0
    ]


def _pair(left: HashArray, right: HashArray) -> IntArray:
    """Pair equal hashes: return the right index of each left hash, or -1; no right index occurs twice."""
    result = np.full(len(left), -1, dtype=np.int64)
    by_left, by_right = np.argsort(left, kind="stable"), np.argsort(right, kind="stable")
    i = j = 0
    while i < len(by_left) and j < len(by_right):
        a, b = left[by_left[i]], right[by_right[j]]
        if a == b:
            result[by_left[i]] = by_right[j]
        i, j = i + int(a <= b), j + int(b <= a)
    return result


def _displaced_rows(
    expected: Columns, actual: Columns, relation: Relation, left: IntArray, right: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the rows of `actual` whose Foata level (see `foata`) is not the expected one, and their expected rows."""
    left_hash, left_level_hash = _level_hashes(expected, relation, left)
    right_hash, right_level_hash = _level_hashes(actual, relation, right)
    moved = _unmatched_rows(right_level_hash, left_level_hash)
    expected_row = _unmatched_rows(left_level_hash, right_level_hash)
    # Both sides hold the same rows, so the moved rows are equal multisets; sort both to pair them.
    moved = moved[np.argsort(right_hash[moved], kind="stable")]
    expected_row = expected_row[np.argsort(left_hash[expected_row], kind="stable")]
    by_row = np.argsort(moved, kind="stable")
    return right[moved[by_row]], left[expected_row[by_row]]


def _level_hashes(
    columns: Columns, relation: Relation, rows: IntArray
) -> tuple[HashArray, HashArray]:
    """Return two hashes of each of `rows`: without and with its Foata level."""
    selected = {name: column[rows] for name, column in columns.items()}
    plain: list[HashArray] = [np.empty(0, dtype=np.uint64)]
    levelled: list[HashArray] = [np.empty(0, dtype=np.uint64)]
    for chunk, level in levels(selected, relation):
        plain.append(row_hashes(chunk)[0])
        levelled.append(row_hashes({**chunk, "level": level})[0])
    return np.concatenate(plain), np.concatenate(levelled)


def describe_row(columns: Columns, row: int) -> str:
    """Return a row in words, e.g. `(ts=3, key=1)`."""
    values: dict[str, npt.NDArray[np.generic]] = dict(columns)
    return "(" + ", ".join(f"{name}={column[row]}" for name, column in values.items()) + ")"


def late_rows(columns: Columns) -> IntArray:
    """Return, ascending, the rows with a lower time than an earlier row."""
    ts = columns["ts"].astype(np.int64, copy=False)
    parts = [np.empty(0, dtype=np.int64)]
    latest = np.iinfo(np.int64).min
    for begin in range(0, len(ts), CHUNK):
        reached = np.maximum.accumulate(np.maximum(ts[begin : begin + CHUNK], latest))
        parts.append(begin + np.flatnonzero(ts[begin : begin + CHUNK] < reached))
        latest = int(reached[-1])
    return np.concatenate(parts)


def late_examples(columns: Columns, late: IntArray, limit: int) -> list[Example]:
    """Return the first `limit` late rows as examples, each with the latest time before it."""
    ts = columns["ts"]
    return [
        Example(
            fault="out of order",
            text=f"row {row}: {describe_row(columns, row)}, after a row of time {ts[:row].max()}",
            position=row,
        )
        for row in late[:limit].tolist()
    ]
