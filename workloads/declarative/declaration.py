"""Defines what a declared workload computes, without its functions.

Every declared workload has a `Declaration` (`Workload.declaration`). The functions of its program are
generated from it, or are the user's (`user_functions`). If no step has functions of the user, the
declaration says everything, so that it can be translated to another language, such as SQL.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

EVENT, ARRIVAL = "event", "arrival"
"""The times of windows."""

TUMBLING, SLIDING, SESSION, COUNT = "tumbling", "sliding", "session", "count"

LATE_BY = "late_by"
"""The column of a table with late="keep": how much earlier a row is than the latest before it, as read."""

ROW = "row"
"""The kind of the rows of a declared workload's input."""


class Function(Enum):
    """The functions of a window's rows that have a name."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    MIN = "min"
    MAX = "max"
    DISTINCT = "distinct"
    PERCENTILE = "percentile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """A named function of the rows of a window.

    Attributes:
        function: which one.
        of: an expression over the columns of a row, or one column; "" for `count`.
        exact: of `sum` and `mean` of floats: the result does not depend on the order of the rows.
        most: of `distinct`: the largest number of different values in a window.
        percent: of `percentile`: above 0, at most 100.
        error: of `percentile`: the largest relative error.
        low, high: of `percentile`: the range of values. From 0 to `low` the error is at most `low / 2`;
            values below 0 and above `high` count as -inf and inf.
    """

    function: Function
    of: str = ""
    exact: bool = False
    most: int = 0
    percent: float = 0.0
    error: float = 0.0
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of an input or output.

    Attributes:
        dtype: of its values.
        dictionary: the dictionary of the dataset whose ids it holds; None: values are what they are.
        is_time: whether it holds event times, in the unit of the dataset.
    """

    name: str
    dtype: np.dtype[Any]
    dictionary: str | None = None
    is_time: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowStep:
    """Windows of rows per key.

    Attributes:
        kind: TUMBLING, SLIDING, SESSION or COUNT.
        size: in units of event time; of SESSION: the longest pause in a session; of COUNT: rows.
        advance: of SLIDING; of the others equal to `size`.
        result: the named functions, by output column; None: the user's functions compute the result.
        closes_after: a row counts if the latest row read before it is less than this past the window's end; None: all
            rows count.
        time: EVENT or ARRIVAL.
    """

    kind: str
    size: int
    advance: int
    result: Mapping[str, Aggregate] | None
    closes_after: int | None = None
    time: str = EVENT

    def count_late(self, ts: npt.NDArray[np.int64], late_by: npt.NDArray[np.int64]) -> int:
        """Return the number of rows that came too late for all of their windows, by their columns."""
        if self.closes_after is None:
            return 0
        last_end = ts - ts % self.advance + self.size
        return int(np.count_nonzero(ts + late_by >= last_end + self.closes_after))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopStep:
    """The first rows of each tumbling window by a column, largest first.

    Rows of equal `by` are ordered by the other columns, ascending, and then by time.

    Attributes:
        most: the number of rows per window and key.
        columns: the output columns in addition to the key, `rank`, `by` and `at`.
    """

    most: int
    size: int
    by: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeduplicateStep:
    """Rows without those whose key left at most `within` before; None: at any time before."""

    within: int | None
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertStep:
    """The first row of each key at which a condition has held for `lasting`; again after it was false."""

    condition: str
    lasting: int
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectStep:
    """Rows with other columns: expressions by output column.

    Attributes:
        too_late_for: only rows that came too late for all of these windows leave; None: all rows.
    """

    columns: Mapping[str, str]
    too_late_for: WindowStep | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinStep:
    """The join of two tables (`streamlab.join`); `how` is inner, left or asof."""

    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatMapStep:
    """At most `most` rows for each row, made by a function of the user."""

    most: int


Step = WindowStep | TopStep | DeduplicateStep | AlertStep | SelectStep | JoinStep | FlatMapStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Which rows of equal time come in the order that one worker gives.

    Attributes:
        keys: those with equal values of these columns; none: all.
        lost: none, or those of a column that is gone.
    """

    keys: tuple[str, ...] = ()
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One step of a declared workload, and the steps before it.

    Attributes:
        step: what it computes.
        keys: the columns of the input whose values are computed separately; none: all rows together.
        where: an expression that rows must satisfy; None: all rows, or a function of the user.
        reads: the columns of the input that it reads, without `ts`.
        output: its output, the first column `ts`.
        user_functions: whether functions of the user compute the result or choose the rows.
        unit: of event time.
        before: the declaration that makes its input; None: the input is a table or generated.
    """

    name: str
    step: Step
    keys: tuple[str, ...]
    where: str | None
    reads: tuple[Column, ...]
    output: tuple[Column, ...]
    user_functions: bool
    unit: str
    before: "Declaration | None" = field(default=None)

    def steps(self) -> "tuple[Declaration, ...]":
        """Return all steps, the first one first."""
        return (*(self.before.steps() if self.before else ()), self)

    @property
    def on_rows(self) -> bool:
        """Whether the step is on rows, with their times, and not a join or on windows of time."""
        in_time = isinstance(self.step, WindowStep) and self.step.kind != COUNT
        return not in_time and not isinstance(self.step, TopStep | JoinStep)

    def order_of_ties(self) -> "Order":
        """Return the order of output rows of equal time in a query of operators O+."""
        if not isinstance(self.step, SelectStep | FlatMapStep):
            return Order(keys=self.keys, lost=isinstance(self.step, JoinStep))
        order = Order() if self.before is None else self.before.order_of_ties()
        if not order.keys or order.lost:
            return order
        if isinstance(self.step, FlatMapStep):
            return Order(lost=True)
        renamed = {text: name for name, text in self.step.columns.items()}
        if not renamed.keys() >= {*order.keys}:
            return Order(lost=True)
        return Order(keys=tuple(renamed[key] for key in order.keys))

    def column(self, name: str) -> Column:
        """Return an output column by name."""
        return next(column for column in self.output if column.name == name)
