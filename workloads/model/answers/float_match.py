"""Matches the rows of an answer with expected rows whose floats are within their tolerances.

Rows match if each float is within its tolerance and all other fields are equal. Each expected row matches
at most one row. Matched rows get the expected floats, so that the comparison of traces, which follows, sees
equal rows.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.answers.floats import HALF_OF_THE_DIGITS, Tolerance, Tolerances
from streamlab.workloads.model.answers.foata import (
    CHUNK,
    HashArray,
    Relation,
    are_equal,
    levels,
    row_hashes,
)
from streamlab.workloads.model.streams.stream import Columns, IntArray

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

MAX_PAIRS = 1 << 22
MAX_GROUPS = 10_000
"""Rows of a group have equal fields without tolerances. They are first paired in the order of their floats.
If that leaves rows unmatched, a maximum matching is computed: in up to MAX_GROUPS groups, each of up to
MAX_PAIRS pairs (a table of 4 MiB)."""


@dataclass(slots=True, kw_only=True)
class Deviation:
    """Holds the largest differences of a field between matched rows.

    Attributes:
        relative: Largest difference, divided by the magnitude of the value.
        absolute: Largest difference, in the unit of the field.
        share: Largest difference, divided by the allowed difference.
    """

    relative: float = 0.0
    absolute: float = 0.0
    share: float = 0.0

    def take(self, difference: Floats, scale: Floats, allowed: Floats) -> None:
        """Update the maxima with the differences of more rows."""
        some = difference > 0
        if some.any():
            gap = difference[some]
            self.relative = max(self.relative, float((gap / scale[some]).max()))
            self.absolute = max(self.absolute, float(gap.max()))
            self.share = max(self.share, float((gap / allowed[some]).max()))


@dataclass(slots=True, kw_only=True)
class FloatMatch:
    """Holds an answer after matching, and the deviations of its floats by field."""

    columns: Columns
    deviations: dict[str, Deviation] = field(default_factory=dict)


def match_floats(
    expected: Columns, actual: Columns, relation: Relation, tolerances: Tolerances, magnitude: float
) -> FloatMatch:
    """Return the actual answer, with each float of a matched row replaced by the expected float.

    `magnitude` is a typical magnitude of the input's floats. It scales the tolerance of fields whose own
    values are only rounding noise.
    """
    loose = {name: bound for name, bound in tolerances.items() if not bound.exact}
    matcher = _Matcher(expected, actual, relation, loose, magnitude)
    if len(expected["ts"]) == len(actual["ts"]) and matcher.matches_in_place():
        return FloatMatch(columns=expected, deviations=matcher.deviations)
    # The first round matches by level, so that dependent rows keep their order. The second round
    # ignores levels, so that a missing row does not make all rows after it wrong.
    for with_levels in (True, False):
        matcher.match_groups(with_levels=with_levels)
    return FloatMatch(columns=matcher.use_expected_floats(), deviations=matcher.deviations)


class _Matcher:
    """Pairs rows of the expected answer (`left`, row numbers) with rows of the actual answer (`right`)."""

    def __init__(
        self,
        expected: Columns,
        actual: Columns,
        relation: Relation,
        loose: dict[str, Tolerance],
        magnitude: float,
    ) -> None:
        self._expected, self._actual, self._relation = expected, actual, relation
        self._loose, self._magnitude = loose, magnitude
        self._rest = [name for name in expected if name not in loose]
        self._typical: dict[str, Floats] = {}
        # The expected row of each actual row; -1 if unmatched.
        self._partner = np.full(len(actual["ts"]), -1, dtype=np.int64)
        self.deviations = {name: Deviation() for name in loose}

    def matches_in_place(self) -> bool:
        """Match each row with the expected row at its place; return whether all match."""
        rows = len(self._expected["ts"])
        for begin in range(0, rows, CHUNK):
            part = slice(begin, begin + CHUNK)
            for name in self._rest:
                if not are_equal(self._expected[name][part], self._actual[name][part]).all():
                    return False
        chunks = [np.arange(begin, min(begin + CHUNK, rows)) for begin in range(0, rows, CHUNK)]
        if not all(self._within(chunk, chunk).all() for chunk in chunks):
            return False
        for chunk in chunks:
            self._take(chunk, chunk)
        return True

    def match_groups(self, *, with_levels: bool) -> None:
        """Match rows without a partner, within groups of rows whose fields without tolerances are equal."""
        left = np.setdiff1d(np.arange(len(self._expected["ts"])), self._partner)
        right = np.flatnonzero(self._partner < 0)
        if not len(left) or not len(right):
            return
        left, left_hash = self._group_rows(self._expected, left, with_levels)
        right, right_hash = self._group_rows(self._actual, right, with_levels)
        hashes, begin, group, count = np.unique(
            left_hash, return_index=True, return_inverse=True, return_counts=True
        )
        low, high = (np.searchsorted(right_hash, hashes, side) for side in ("left", "right"))
        # Pair the rows of a group in the order of their floats, the first with the first, and so on.
        partner = low[group] + np.arange(len(left)) - begin[group]
        paired = np.flatnonzero(partner < high[group])
        fits = self._within(left[paired], right[partner[paired]])
        odd = np.unique(group[paired[~fits]])
        pairs = count[odd] * (high[odd] - low[odd])
        odd = odd[(pairs > 1) & (pairs <= MAX_PAIRS)][:MAX_GROUPS]
        plain = paired[fits & ~np.isin(group[paired], odd)]
        self._take(left[plain], right[partner[plain]])
        for g in odd.tolist():
            left_group, right_group = slice(begin[g], begin[g] + count[g]), slice(low[g], high[g])
            self._take(*self._best(left[left_group], right[right_group]))

    def _group_rows(
        self, columns: Columns, rows: IntArray, with_levels: bool
    ) -> tuple[IntArray, HashArray]:
        """Return rows, and hashes of their fields without tolerances; both sorted by hash, then by floats."""
        hashes = self._hashes(columns, with_levels)[rows]
        floats = [columns[name][rows] for name in reversed([*self._loose])]
        order = np.lexsort((*floats, hashes))
        return rows[order], hashes[order]

    def use_expected_floats(self) -> Columns:
        """Return the answer with the expected floats in matched rows."""
        matched = np.flatnonzero(self._partner >= 0)
        columns = dict(self._actual)
        for name in self._loose:
            columns[name] = columns[name].copy()
            columns[name][matched] = self._expected[name][self._partner[matched]]
        return columns

    def _take(self, left: IntArray, right: IntArray) -> None:
        """Record pairs of rows as partners, and their deviations."""
        self._partner[right] = left
        for name, deviation in self.deviations.items():
            some = ~are_equal(self._expected[name][left], self._actual[name][right])
            if some.any():
                deviation.take(*self._compare(name, left[some], right[some]))

    def _best(self, left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
        """Return a maximum matching of two groups of rows, as pairs of a left and a right row."""
        from scipy.sparse import csr_array  # heavy
        from scipy.sparse.csgraph import maximum_bipartite_matching

        fits = self._within(np.repeat(left, len(right)), np.tile(right, len(left))).reshape(
            len(left), len(right)
        )
        partner = maximum_bipartite_matching(csr_array(fits), perm_type="column")
        matched = np.flatnonzero(partner >= 0)
        return left[matched], right[partner[matched]]

    def _within(self, left: IntArray, right: IntArray) -> Bools:
        """Return which pairs of rows have all floats within the tolerances."""
        result = np.ones(len(left), dtype=np.bool_)
        for name in self._loose:
            expected, actual = self._expected[name][left], self._actual[name][right]
            within = are_equal(expected, actual)
            if not within.all():
                difference, _, allowed = self._compare(name, left, right)
                with np.errstate(invalid="ignore"):
                    within |= np.isfinite(expected) & np.isfinite(actual) & (difference <= allowed)
            result &= within
        return result

    def _compare(self, name: str, left: IntArray, right: IntArray) -> tuple[Floats, Floats, Floats]:
        """Return difference, scale and allowed difference of a field for pairs of rows."""
        expected = self._expected[name][left].astype(np.float64)
        actual = self._actual[name][right].astype(np.float64)
        bound = self._loose[name]
        scale = np.maximum(np.abs(expected), np.abs(actual))
        if bound.events:
            if name not in self._typical:
                self._typical[name] = self._typical_of(name)
            scale = np.maximum(scale, self._typical[name][left])
        with np.errstate(invalid="ignore", over="ignore"):
            difference = np.abs(expected - actual)
            allowed = np.maximum(bound.relative * scale, bound.absolute)
        return difference, scale, allowed

    def _typical_of(self, name: str) -> Floats:
        """Return for each expected row the median magnitude of its key's nonzero values.

        If the median is only rounding noise of the input's numbers, return their magnitude.
        """
        values = np.abs(self._expected[name].astype(np.float64))
        keys = self._relation.keys(self._expected)
        nonzero = np.flatnonzero((values > 0) & np.isfinite(values))
        order = nonzero[np.lexsort((values[nonzero], keys[nonzero]))]
        groups, first, count = np.unique(keys[order], return_index=True, return_counts=True)
        result = np.full(len(values), self._magnitude)
        if len(groups):
            medians = values[order[first + (count - 1) // 2]]
            group = np.minimum(np.searchsorted(groups, keys), len(groups) - 1)
            result = np.where(groups[group] == keys, medians[group], self._magnitude)
        noise = self._magnitude * HALF_OF_THE_DIGITS
        return np.where(result < noise, self._magnitude, result)

    def _hashes(self, columns: Columns, with_levels: bool) -> HashArray:
        """Return a hash of each row's fields without tolerances, with its Foata level if `with_levels`."""
        if not with_levels:
            return row_hashes({name: columns[name] for name in self._rest})[0]
        parts = [np.empty(0, dtype=np.uint64)]
        for chunk, level in levels(columns, self._relation):
            rest = {name: chunk[name] for name in self._rest}
            parts.append(row_hashes({**rest, "level": level})[0])
        return np.concatenate(parts)
