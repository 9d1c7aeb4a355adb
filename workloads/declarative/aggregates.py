"""Declares named functions of a window's rows, and writes their code.

`count`, `sum`, `mean`, `min`, `max`, `distinct` and `percentile` are public names of `streamlab`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from streamlab.workloads.argument_errors import check_arguments
from streamlab.workloads.declarative.bounded_fields import check_bound
from streamlab.workloads.declarative.declaration import Aggregate, Column, Function
from streamlab.workloads.declarative.expressions import (
    BOOL,
    FLOAT,
    HELPERS,
    INT,
    Columns,
    Expression,
    parse_expression,
)
from streamlab.workloads.declarative.state_functions import bin_of, insert, set_shape, value_at
from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.exact_sum import EXACT_SUM, add_exactly, round_sum

ROWS = "rows_"
"""The field of the state that counts rows."""

_MAX_BINS = 1 << 16
"""Largest number of counters of a percentile: 256 KiB per window."""


@check_arguments(ModelError)
def count() -> Aggregate:
    """Return the number of rows, as an aggregate of a window."""
    return Aggregate(function=Function.COUNT)


@check_arguments(ModelError)
def sum(of: str, *, exact: bool = False) -> Aggregate:
    """Return the sum of a column or an expression such as `price * amount`.

    With `exact`, a sum of floats is rounded once and does not depend on the order of rows. It takes 568
    bytes per window, and about 10 ns more per row.
    """
    return Aggregate(function=Function.SUM, of=of, exact=exact)


@check_arguments(ModelError)
def mean(of: str, *, exact: bool = False) -> Aggregate:
    """Return the mean of a column or an expression; `exact` is as in `sum`."""
    return Aggregate(function=Function.MEAN, of=of, exact=exact)


@check_arguments(ModelError)
def min(of: str) -> Aggregate:
    """Return the smallest value of a column or an expression; NaN if all are NaN."""
    return Aggregate(function=Function.MIN, of=of)


@check_arguments(ModelError)
def max(of: str) -> Aggregate:
    """Return the largest value of a column or an expression; NaN if all are NaN."""
    return Aggregate(function=Function.MAX, of=of)


@check_arguments(ModelError)
def distinct(of: str, *, most: int = 64) -> Aggregate:
    """Return the number of different values of a column of whole numbers or texts.

    The state has room for `most` values; a window with more fails with a message.
    """
    check_bound(most, f"distinct({of!r})")
    return Aggregate(function=Function.DISTINCT, of=of, most=most)


@check_arguments(ModelError)
def percentile(
    of: str, percent: float, *, error: float = 0.01, low: float = 1.0, high: float = 1e6
) -> Aggregate:
    """Return a percentile of a column or an expression, from a histogram in the state.

    The result is the value of rank ceil(percent / 100 * rows) with a relative error of at most `error`.
    For values from 0 to `low` the error is at most `low / 2`. Values below 0 count as -inf, and values above `high`
    as inf. The state has about log2(high / low) / (2 * error) counters.
    """
    where = f"percentile({of!r}, {percent!r})"
    numbers = {"percent": percent, "error": error, "low": low, "high": high}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ModelError(f"{where}: {name} is {value!r}; give a number")
    if not 0 < percent <= 100:
        raise ModelError(f"{where}: percent is {percent!r}; give a number above 0, at most 100")
    if not 0.0001 <= error <= 0.25:
        raise ModelError(f"{where}: error is {error!r}; give 0.0001 to 0.25")
    if not (0 < low < high < math.inf):
        raise ModelError(f"{where}: low is {low!r} and high is {high!r}; expected 0 < low < high")
    aggregate = Aggregate(
        function=Function.PERCENTILE, of=of, percent=percent, error=error, low=low, high=high
    )
    bins = Bins.from_aggregate(aggregate)
    if bins.count > _MAX_BINS:
        raise ModelError(
            f"{where} needs {bins.count:,} counters per window, of at most {_MAX_BINS:,}; give a larger "
            "error, or low and high closer together"
        )
    return aggregate


def beyond_most(aggregate: Aggregate) -> str:
    """Return the message about a window with more different values than `distinct` has room for."""
    return (
        f"distinct({aggregate.of}): a window has more than {aggregate.most} different values; "
        f"raise most={aggregate.most}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bins:
    """The bins of a histogram: `steps` bins for each of `octaves` octaves, of which the first begins at 2**lowest."""

    steps: int
    lowest: int
    octaves: int

    @classmethod
    def from_aggregate(cls, aggregate: Aggregate) -> "Bins":
        """Return the bins of a percentile."""
        steps = 1
        while 1 / (2 * steps) > aggregate.error:  # a bin's middle is off by half its width
            steps *= 2
        lowest = math.frexp(aggregate.low)[1] - 1
        return cls(steps=steps, lowest=lowest, octaves=math.frexp(aggregate.high)[1] - lowest)

    @property
    def smallest(self) -> float:
        """The lower bound of the bins of the first octave."""
        return math.ldexp(1.0, self.lowest)

    @property
    def largest(self) -> float:
        """The upper bound of the bins of the last octave."""
        return math.ldexp(1.0, self.lowest + self.octaves)

    @property
    def count(self) -> int:
        """The number of bins: three are for values below 0, from 0 to `smallest`, and above the range."""
        return 3 + self.steps * self.octaves


@dataclass(slots=True, kw_only=True)
class AggregateCode:
    """The code of several aggregates on one state `s` and row `t`.

    Attributes:
        state: fields of the state, in the form that `numpy.dtype` takes.
        adding: lines that add the row.
        values: an expression for each result.
        output: the output columns.
        reads: the columns of the row.
        names: names that the code uses.
        result: the aggregates; in their expressions, texts are replaced by their numbers.
    """

    state: list[tuple[Any, ...]] = field(default_factory=lambda: [(ROWS, np.int64)])
    adding: list[str] = field(default_factory=lambda: [f"s.{ROWS} += 1"])
    values: list[str] = field(default_factory=list)
    output: list[Column] = field(default_factory=list)
    reads: list[Column] = field(default_factory=list)
    names: dict[str, object] = field(default_factory=lambda: dict(HELPERS))
    result: dict[str, Aggregate] = field(default_factory=dict)


def code_of_aggregates(
    result: Mapping[str, Aggregate], columns: Columns, place: str
) -> AggregateCode:
    """Return the code of the aggregates of a window, by output column.

    Raises:
        ModelError: an aggregate does not fit the columns of the rows.
    """
    code = AggregateCode()
    for name, aggregate in result.items():
        if not isinstance(aggregate, Aggregate):
            raise ModelError(
                f"{place}: result has {aggregate!r:.60} for {name}; give an aggregate, such as "
                'lab.count() or lab.mean("duration")'
            )
        where = f"{place}, {name}: {aggregate.function.value}"
        writer = _Writer(code, name, aggregate, where)
        code.result[name] = aggregate
        if aggregate.function is Function.COUNT:
            writer.add_result(f"s.{ROWS}", INT)
        elif aggregate.function is Function.DISTINCT:
            writer.write_distinct(columns.find(aggregate.of))
        else:
            expression = parse_expression(aggregate.of, columns, where)
            code.result[name] = replace(aggregate, of=expression.text)
            writer.write_expression(expression)
    return code


class _Writer:
    """Adds the code of one aggregate to an `AggregateCode`."""

    def __init__(self, code: AggregateCode, name: str, aggregate: Aggregate, where: str) -> None:
        self._code, self._name, self._aggregate, self._where = code, name, aggregate, where
        self._field = f"{name}_{aggregate.function.value}_"  # users see this name in messages

    def add_result(self, value: str, dtype: np.dtype[Any]) -> None:
        """Add the expression of the result, and its output column."""
        self._code.values.append(value)
        self._code.output.append(Column(name=self._name, dtype=dtype))

    def write_distinct(self, column: Column) -> None:
        """Write the size of a set."""
        if column.dtype.kind not in "iu":
            raise ModelError(
                f"{self._where}: column {column.name} is {column.dtype}; expected whole numbers or texts"
            )
        most = self._aggregate.most
        self._code.reads.append(column)
        self._code.names["insert"] = insert
        self._code.state.append((self._field, np.int64, set_shape(most)))
        message = beyond_most(self._aggregate)
        self._code.adding += [
            f"if insert(s.{self._field}, t.{column.name}) > {most}:",
            f"    raise ValueError({message!r})",
        ]
        self.add_result(f"s.{self._field}[0]", INT)

    def write_expression(self, expression: Expression) -> None:
        """Write an aggregate of an expression."""
        self._code.reads += expression.columns
        value = expression.code
        dtype = INT if expression.dtype == BOOL else expression.dtype
        function = self._aggregate.function
        if function in (Function.SUM, Function.MEAN):
            self._sum(value, dtype, mean=function is Function.MEAN)
        elif function is Function.PERCENTILE:
            self._percentile(value if dtype == FLOAT else f"float({value})")
        else:
            sign = "<" if function is Function.MIN else ">"
            self._code.state.append((self._field, dtype))
            is_nan = f" or s.{self._field} != s.{self._field}" if expression.may_be_nan else ""
            self._code.adding += [
                f"v = {value}",
                f"if s.{ROWS} == 1 or v {sign} s.{self._field}{is_nan}:",
                f"    s.{self._field} = v",
            ]
            self.add_result(f"s.{self._field}", dtype)

    def _sum(self, value: str, dtype: np.dtype[Any], *, mean: bool) -> None:
        total = f"s.{self._field}"
        if self._aggregate.exact and dtype == FLOAT:
            self._code.names |= {"add_exactly": add_exactly, "round_sum": round_sum}
            self._code.state.append((self._field, np.int64, EXACT_SUM))
            self._code.adding.append(f"add_exactly({total}, {value})")
            total = f"round_sum({total})"
        else:
            self._code.state.append((self._field, dtype))
            self._code.adding.append(f"{total} += {value}")
        if mean:
            self.add_result(f"float({total}) / s.{ROWS}", FLOAT)
        else:
            self.add_result(total, dtype)

    def _percentile(self, value: str) -> None:
        bins = Bins.from_aggregate(self._aggregate)
        self._code.names |= {"bin_of": bin_of, "value_at": value_at, "ceil": math.ceil}
        self._code.state.append((self._field, np.int32, (bins.count,)))
        high = float(self._aggregate.high)
        bin_code = f"bin_of({value}, {bins.steps}, {bins.lowest}, {bins.octaves}, {high!r})"
        self._code.adding.append(f"s.{self._field}[{bin_code}] += 1")
        rank = f"int(ceil(s.{ROWS} * {float(self._aggregate.percent)!r} / 100))"
        self.add_result(f"value_at(s.{self._field}, {rank}, {bins.steps}, {bins.lowest})", FLOAT)
