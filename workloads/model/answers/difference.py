"""What is wrong with an output: rows that are missing, duplicate, out of order, or wrong."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.answers.float_match import Deviation
from streamlab.workloads.model.answers.foata import CHUNK, HashArray, Relation, levels, row_hashes
from streamlab.workloads.model.streams.stream import Columns, IntArray

Fault = Literal["missing", "duplicate", "out of order", "wrong"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One row that differs.

    Attributes:
        fault: what is the matter.
        text: the row, in words.
        position: its place in the actual output, or for a missing row in the expected one.
    """

    fault: Fault
    text: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference of two outputs as data traces.

    Attributes:
        expected_rows, actual_rows: lengths of both.
        missing: expected rows that are not there.
        duplicate: rows that are there more often than expected.
        out_of_order: rows whose place among the rows that they depend on is another than expected,
            counted after the rows of the other kinds have been set aside. Where records must leave
            in order of time, when no others are: rows timed before an earlier row.
        wrong: rows that nothing expected equals; a missing row with the same time and tag is
            counted here once, not as missing.
        rounded: of `wrong`, rows that differ from the expected one in the last bits of floats only.
        examples: some of them.
        deviations: how far floats were from the expected ones where they need not be equal.
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
        """Whether both are the same data trace."""
        return not (self.missing or self.duplicate or self.out_of_order or self.wrong)

    def render(self) -> str:
        """Return the difference as text of several lines, one for each example."""
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
    """Name the faults in the part where two outputs differ.

    Args:
        expected: the part expected.
        actual: the part found.
        relation: the dependence relation.
        whole: all that is expected; a row beyond what is expected in the part is duplicate when it
            is expected anywhere.
        first_row: where the part begins in both outputs.
        common: number of rows outside the part.
        limit: most examples.
    """
    left, _ = row_hashes(expected)
    right, _ = row_hashes(actual)
    left_only, right_only = _unmatched(left, right), _unmatched(right, left)
    duplicate = np.zeros(len(right), dtype=np.bool_)
    duplicate[right_only] = _occurs(right[right_only], whole)
    odd = right_only[~duplicate[right_only]]
    place_left = _places(expected, relation, left_only)
    place_right = _places(actual, relation, odd)
    replaced_by = _pair(place_left, place_right)
    missing = left_only[replaced_by < 0]
    examples = [
        Example(
            fault="missing",
            text=f"expected row {first_row + row}: {in_words(expected, row)}",
            position=first_row + row,
        )
        for row in missing[:limit].tolist()
    ]
    examples += [
        Example(
            fault="duplicate",
            text=f"row {first_row + row}: {in_words(actual, row)}",
            position=first_row + row,
        )
        for row in np.flatnonzero(duplicate)[:limit].tolist()
    ]
    wanted = {int(odd[j]): int(left_only[i]) for i, j in enumerate(replaced_by) if j >= 0}
    for row in odd[:limit].tolist():
        text = f"row {first_row + row}: {in_words(actual, row)}"
        if row in wanted:
            text += f", expected {in_words(expected, wanted[row])}"
            text += in_last_bits(expected, wanted[row], actual, row)
        else:
            text += ", nothing expected at that time and tag"
        examples.append(Example(fault="wrong", text=text, position=first_row + row))
    kept_left = np.delete(np.arange(len(left)), left_only)
    kept_right = np.delete(np.arange(len(right)), right_only)
    moved, moved_from = _displaced(expected, actual, relation, kept_left, kept_right)
    for row, home in zip(moved[:limit].tolist(), moved_from[:limit].tolist(), strict=True):
        text = f"row {first_row + row}: {in_words(actual, row)}, expected as row {first_row + home}"
        examples.append(Example(fault="out of order", text=text, position=first_row + row))
    return Difference(
        expected_rows=len(left) + common,
        actual_rows=len(right) + common,
        missing=len(missing),
        duplicate=int(duplicate.sum()),
        out_of_order=len(moved),
        wrong=len(odd),
        rounded=_rounded(expected, actual, left_only[replaced_by >= 0], odd, replaced_by),
        examples=spread(examples, limit),
    )


def spread(examples: list[Example], limit: int) -> tuple[Example, ...]:
    """Return at most `limit` examples, each fault in turn, so that none hides the others."""
    turns: Counter[Fault] = Counter()
    ranked = []
    for example in examples:
        ranked.append((turns[example.fault], example))
        turns[example.fault] += 1
    ranked.sort(key=lambda pair: pair[0])
    return tuple(sorted((example for _, example in ranked[:limit]), key=lambda e: e.position))


def _unmatched(these: HashArray, those: HashArray) -> IntArray:
    """Return, ascending, the last occurrences in `these` of what `those` has less often."""
    values, counts = np.unique(these, return_counts=True)
    other_values, other_counts = np.unique(those, return_counts=True)
    at = np.minimum(np.searchsorted(other_values, values), max(len(other_values) - 1, 0))
    allowed = np.zeros(len(values), dtype=np.int64)
    if len(other_values):
        known = other_values[at] == values
        allowed[known] = other_counts[at[known]]
    over = counts > allowed
    values, allowed = values[over], allowed[over]
    if not len(values):
        return np.empty(0, dtype=np.int64)
    # Only rows with an excess value are looked at from here on: most often few of very many.
    rank = np.minimum(np.searchsorted(values, these), len(values) - 1)
    rows = np.flatnonzero(values[rank] == these)
    rank = rank[rows]
    order = np.argsort(rank, kind="stable")
    group = np.bincount(rank, minlength=len(values))
    starts = np.repeat(np.cumsum(group) - group, group)
    occurrence = np.empty(len(rows), dtype=np.int64)
    occurrence[order] = np.arange(len(rows)) - starts
    return rows[occurrence >= allowed[rank]]


def _occurs(hashes: HashArray, columns: Columns) -> npt.NDArray[np.bool_]:
    """Return which of the row hashes occur in `columns`, which is read in chunks."""
    wanted, inverse = np.unique(hashes, return_inverse=True)
    found = np.zeros(len(wanted), dtype=np.bool_)
    if len(wanted):
        for begin in range(0, len(columns["ts"]), CHUNK):
            chunk = {name: column[begin : begin + CHUNK] for name, column in columns.items()}
            here = row_hashes(chunk)[0]
            at = np.minimum(np.searchsorted(wanted, here), len(wanted) - 1)
            found[at[wanted[at] == here]] = True
    return found[inverse]


def _rounded(
    expected: Columns, actual: Columns, wanted: IntArray, odd: IntArray, replaced_by: IntArray
) -> int:
    """Return how many wrong rows differ in the last bits of floats only."""
    found = odd[replaced_by[replaced_by >= 0]]
    pairs = ((expected[name][wanted], actual[name][found]) for name in expected)
    near = np.ones(len(found), dtype=np.bool_)
    for one, other in pairs:
        near &= nearly(one, other)
    return int(near.sum())


def nearly(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which values are equal, or are floats that have half of their digits in common."""
    same = one == other
    if one.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.maximum(np.abs(one), np.abs(other))
            same |= np.isfinite(size) & (
                np.abs(one - other) <= np.sqrt(np.finfo(one.dtype).eps) * size
            )
            same |= np.isnan(one) & np.isnan(other)
    return np.asarray(same, dtype=np.bool_)


def in_last_bits(expected: Columns, row: int, actual: Columns, other: int) -> str:
    """Return by how much the floats of a row differ if only last bits differ, else ""."""
    places = slice(row, row + 1), slice(other, other + 1)
    parts = []
    for name, column in expected.items():
        one, two = column[places[0]], actual[name][places[1]]
        if not nearly(one, two).all():
            return ""
        if column.dtype.kind == "f" and one[0] != two[0] and not np.isnan(one[0]):
            gap, size = abs(float(one[0]) - float(two[0])), max(abs(one[0]), abs(two[0]))
            ulps = round(gap / float(np.spacing(size)))
            parts.append(f"{name} differs by {ulps:,} ulp ({gap / float(size):.2g} of it)")
    return f": {', '.join(parts)}" if parts else ""


def _places(columns: Columns, relation: Relation, rows: IntArray) -> HashArray:
    """Return a hash of time and tag of some rows."""
    some = {name: column[rows] for name, column in columns.items()}
    return row_hashes({"ts": some["ts"], "kind": relation.kinds(some), "key": relation.keys(some)})[
        0
    ]


def _pair(wanted: HashArray, found: HashArray) -> IntArray:
    """Return for each wanted place an equal found one, each used once; -1 when there is none."""
    result = np.full(len(wanted), -1, dtype=np.int64)
    by_wanted, by_found = np.argsort(wanted, kind="stable"), np.argsort(found, kind="stable")
    i = j = 0
    while i < len(by_wanted) and j < len(by_found):
        a, b = wanted[by_wanted[i]], found[by_found[j]]
        if a == b:
            result[by_wanted[i]] = by_found[j]
        i, j = i + int(a <= b), j + int(b <= a)
    return result


def _displaced(
    expected: Columns, actual: Columns, relation: Relation, left: IntArray, right: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the rows of `actual` whose level is not as expected, and where they were expected."""
    left_hash, left_level_hash = _level_hashes(expected, relation, left)
    right_hash, right_level_hash = _level_hashes(actual, relation, right)
    moved = _unmatched(right_level_hash, left_level_hash)
    home = _unmatched(left_level_hash, right_level_hash)
    # Both sides hold the same rows, so what moved is the same multiset: sort both to pair them.
    moved = moved[np.argsort(right_hash[moved], kind="stable")]
    home = home[np.argsort(left_hash[home], kind="stable")]
    by_row = np.argsort(moved, kind="stable")
    return right[moved[by_row]], left[home[by_row]]


def _level_hashes(
    columns: Columns, relation: Relation, rows: IntArray
) -> tuple[HashArray, HashArray]:
    kept = {name: column[rows] for name, column in columns.items()}
    plain: list[HashArray] = [np.empty(0, dtype=np.uint64)]
    levelled: list[HashArray] = [np.empty(0, dtype=np.uint64)]
    for chunk, level in levels(kept, relation):
        plain.append(row_hashes(chunk)[0])
        levelled.append(row_hashes({**chunk, "level": level})[0])
    return np.concatenate(plain), np.concatenate(levelled)


def in_words(columns: Columns, row: int) -> str:
    """Return a row in words, e.g. `(ts=3, key=1)`."""
    values: dict[str, npt.NDArray[np.generic]] = dict(columns)
    return "(" + ", ".join(f"{name}={column[row]}" for name, column in values.items()) + ")"
