"""Compares outputs as data traces (Data-Trace Types, section 3), and describes their differences.

Two outputs are the same data trace if swaps of adjacent rows with independent tags turn one into the
other. The comparison has three steps: row by row, by fingerprints of the canonical form, and by a
classification of the rows that differ. A step runs only if the previous step is not conclusive. Time
order is checked too if the output type demands it. Floats with a tolerance are matched first, see
`float_match`.
"""

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from streamlab.workloads.model.answers.difference import (
    Difference,
    classify,
    late_examples,
    late_rows,
    spread,
)
from streamlab.workloads.model.answers.float_match import FloatMatch, match_floats
from streamlab.workloads.model.answers.floats import Tolerances
from streamlab.workloads.model.answers.foata import CHUNK, Relation, are_equal, fingerprint
from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.streams.stream import Columns
from streamlab.workloads.model.workload import OutputType

__all__ = ["Difference", "compare"]

NONE: Tolerances = MappingProxyType({})
"""No tolerances: floats must be equal bit for bit."""


def compare(
    expected: Columns,
    actual: Columns,
    output: OutputType,
    *,
    limit: int = 20,
    tolerances: Tolerances = NONE,
    magnitude: Callable[[], float] = lambda: 0.0,
) -> Difference:
    """Compare two outputs as data traces.

    Args:
        expected: The right answer, as columns of equal length.
        actual: The answer to judge, with the same columns and types.
        output: Dependence of rows, and whether `actual` must be in order of time.
        limit: Maximum number of example rows in the difference.
        tolerances: Tolerances of float fields that need not be equal bit for bit (`floats.tolerances_of`).
        magnitude: Returns a typical magnitude of the input's floats; called only if floats differ.

    Returns:
        The difference; its `equal` is true if both are the same trace. A wrong answer passes with a
        probability of about 2**-128 (see `foata.fingerprint`); a right one always passes.

    Raises:
        ModelError: Columns are missing, of unequal length, or of another type.
    """
    _check_columns(expected, actual, output)
    matched = FloatMatch(columns=actual)
    if not all(bound.exact for bound in tolerances.values()) and not (
        _common_prefix(expected, actual) == len(expected["ts"]) == len(actual["ts"])
    ):
        relation = Relation.from_output(output, expected, actual)
        matched = match_floats(expected, actual, relation, tolerances, magnitude())
    difference = _compare(expected, matched.columns, output, limit)
    difference = replace(difference, deviations=matched.deviations)
    if not output.sorted:
        return difference
    late = late_rows(actual)
    if not len(late) or difference.out_of_order:
        return difference
    examples = [*difference.examples, *late_examples(actual, late, limit)]
    return replace(difference, out_of_order=len(late), examples=spread(examples, limit))


def _compare(expected: Columns, actual: Columns, output: OutputType, limit: int) -> Difference:
    rows, total = len(expected["ts"]), len(actual["ts"])
    begin = _common_prefix(expected, actual)
    if begin == rows == total:
        return Difference(expected_rows=rows, actual_rows=rows)
    # Skip equal rows at both ends: x u y and x v y are the same trace if and only if u and v are.
    left, right = _slice(expected, begin, 0), _slice(actual, begin, 0)
    end = _common_prefix(_reverse(left), _reverse(right))
    left, right = _slice(left, 0, end), _slice(right, 0, end)
    relation = Relation.from_output(output, left, right)
    if fingerprint(left, relation) == fingerprint(right, relation):
        return Difference(expected_rows=rows, actual_rows=total)
    return classify(
        left, right, relation, whole=expected, first_row=begin, common=begin + end, limit=limit
    )


def _slice(columns: Columns, begin: int, end: int) -> Columns:
    return {name: column[begin : len(column) - end] for name, column in columns.items()}


def _reverse(columns: Columns) -> Columns:
    return {name: column[::-1] for name, column in columns.items()}


def _check_columns(expected: Columns, actual: Columns, output: OutputType) -> None:
    if "ts" not in expected:
        raise ModelError(f"the expected output has no column ts, but {', '.join(expected)}")
    missing = [name for name in expected if name not in actual]
    extra = [name for name in actual if name not in expected]
    if missing or extra:
        raise ModelError(
            f"the output has columns {', '.join(actual) or 'none'}; expected {', '.join(expected)}"
        )
    for name in (output.kind_field, output.key_field):
        if name is not None and name not in expected:
            raise ModelError(
                f"the output type names the field {name}, which is not among the output's columns: "
                f"{', '.join(expected)}"
            )
    for name, column in expected.items():
        if actual[name].dtype != column.dtype:
            raise ModelError(
                f"output column {name} has type {actual[name].dtype}; expected {column.dtype}"
            )
    for side, columns in (("expected", expected), ("actual", actual)):
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ModelError(f"columns of the {side} output are of unequal length: {lengths}")


def _common_prefix(expected: Columns, actual: Columns) -> int:
    n = min(len(expected["ts"]), len(actual["ts"]))
    for begin in range(0, n, CHUNK):
        part = slice(begin, min(begin + CHUNK, n))
        equal = np.logical_and.reduce(
            [are_equal(column[part], actual[name][part]) for name, column in expected.items()]
        )
        if not equal.all():
            return begin + int(np.argmin(equal))
    return n
