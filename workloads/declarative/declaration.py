"""Describes the computation of a declared workload, without its functions.

Every declared workload has a `Declaration` (`Workload.declaration`). The functions of its program are
generated from it, or are the user's (`user_functions`). If no step has functions of the user, the
declaration is complete, and can be translated to another language, such as SQL.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

EVENT, ARRIVAL = "event", "arrival"
"""The times of windows."""

TUMBLING, SLIDING, SESSION, COUNT = "tumbling", "sliding", "session", "count"
INNER, OUTER, ASOF = "inner", "left", "asof"
LEFT, RIGHT = "left", "right"
MATCHED = "matched"
"""Output column of OUTER and ASOF joins: whether a row has a partner."""
NO_TEXT = -1
"""The number of a missing text."""

LATE_BY = "late_by"
"""Column of a table with late="keep": the time from a row's event time to the latest event time read before it."""

ROW = "row"
"""The kind of the rows of a declared workload's input."""


class Function(Enum):
    """The functions of a window's rows that users select by name."""

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
        function: the function.
        of: its argument, a column or an expression over the columns of a row; "" for `count`.
        exact: for `sum` and `mean` of floats: whether the result is independent of the order of the rows.
        most: for `distinct`: the largest number of different values in a window.
        percent: for `percentile`: above 0, at most 100.
        error: for `percentile`: the largest relative error.
        low, high: for `percentile`: the range of values. From 0 to `low` the error is at most `low / 2`. Values below 0
            count as -inf, and values above `high` as inf.
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
        dtype: type of its values.
        dictionary: the dictionary of the dataset whose ids it holds; None if it holds plain values.
        is_time: whether it holds event times, in the unit of the dataset.
    """

    name: str
    dtype: np.dtype[Any]
    dictionary: str | None = None
    is_time: bool = False

    @property
    def missing(self) -> int | float | bool:
        """Its value in a row without a partner."""
        if self.dictionary is not None:
            return NO_TEXT
        return False if self.dtype.kind == "b" else 0.0 if self.dtype.kind == "f" else 0


TIME = Column(name="ts", dtype=np.dtype(np.int64), is_time=True)
"""The event time of a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowStep:
    """Windows of rows per key.

    Attributes:
        kind: TUMBLING, SLIDING, SESSION or COUNT.
        size: in units of event time; for SESSION the longest pause in a session, for COUNT a number of rows.
        advance: for SLIDING in units of event time; for other kinds equal to `size`.
        result: the named functions, by output column; None if functions of the user compute the result.
        closes_after: in units of event time. A row counts if the latest time read before it is less than
            `closes_after` after the window's end. None if all rows count.
        time: EVENT or ARRIVAL.
    """

    kind: str
    size: int
    advance: int
    result: Mapping[str, Aggregate] | None
    closes_after: int | None = None
    time: str = EVENT

    def count_late(self, ts: npt.NDArray[np.int64], late_by: npt.NDArray[np.int64]) -> int:
        """Return how many rows came too late for all of their windows, given the times and lateness of the rows."""
        if self.closes_after is None:
            return 0
        last_end = ts - ts % self.advance + self.size
        return int(np.count_nonzero(ts + late_by >= last_end + self.closes_after))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopStep:
    """The first rows of each tumbling window, ordered by a column, largest first.

    Rows of equal `by` are ordered by the other columns, ascending, and then by time.

    Attributes:
        most: the number of rows per window and key.
        size: the size of the windows, in units of event time.
        by: the column that orders the rows.
        columns: the output columns in addition to the key, `rank`, `by` and `at`.
    """

    most: int
    size: int
    by: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeduplicateStep:
    """Rows without an output row of their key in the last `within` units of event time (None: at any time before)."""

    within: int | None
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertStep:
    """The first row of each key at which a condition has held for `lasting` units of event time.

    A key alerts again only after the condition was false.
    """

    condition: str
    lasting: int
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectStep:
    """Rows with other columns: expressions by output column.

    Attributes:
        too_late_for: windows. Only rows that are too late for all of them are output. None: all rows are output.
    """

    columns: Mapping[str, str]
    too_late_for: WindowStep | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinStep:
    """The join of two tables (`streamlab.join`), whose rows are events of kinds LEFT and RIGHT.

    Attributes:
        how: INNER, OUTER or ASOF.
        keys: the columns of both tables that are equal.
        columns: the columns that the join reads besides the keys, by kind.
        values: expressions over `left.COLUMN` and `right.COLUMN`, by output column after `ts` and the keys.
        before, after: a partner's time is in [t - before, t + after], where t is the left row's time. `after` is 0 for
            ASOF. If `before` is None, a partner may have any time up to t + after.
        every: for OUTER: rows without a partner are output at multiples of this time.
    """

    how: str
    keys: tuple[Column, ...]
    columns: Mapping[str, tuple[Column, ...]]
    values: Mapping[str, str]
    before: int | None
    after: int
    every: int

    def of_side(self, side: str) -> tuple[Column, ...]:
        """Return the columns of a table, without `ts`."""
        return (*self.keys, *self.columns[side])

    def reads(self) -> tuple[Column, ...]:
        """Return the columns of both tables that the output needs, with names such as `left.price`."""
        texts = " ".join(self.outputs().values())
        needed = {*re.findall(rf"\b(?:{LEFT}|{RIGHT})\.\w+", texts)}
        columns = [
            replace(column, name=f"{side}.{column.name}")
            for side in (LEFT, RIGHT)
            for column in (TIME, *self.of_side(side))
        ]
        return tuple(column for column in columns if column.name in needed)

    def outputs(self) -> Mapping[str, str]:
        """Return the expressions of all output columns between `ts` and `matched`."""
        return {key.name: f"{LEFT}.{key.name}" for key in self.keys} | {**self.values}

    @property
    def kinds(self) -> tuple[str, str]:
        """The kinds of events in their order, which decides between events of equal time."""
        return (RIGHT, LEFT) if self.how == ASOF else (LEFT, RIGHT)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatMapStep:
    """Up to `most` rows for each row, from a function of the user."""

    most: int


Step = WindowStep | TopStep | DeduplicateStep | AlertStep | SelectStep | JoinStep | FlatMapStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Defines which output rows of equal time have the same order with any number of workers.

    Attributes:
        keys: only rows with equal values of these columns have the same order; empty if all rows have the same order.
        lost: whether no rows have the same order, or only rows with equal values of a column that the output lacks.
    """

    keys: tuple[str, ...] = ()
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One step of a declared workload, and the steps before it.

    Attributes:
        step: the computation.
        keys: the columns of the input that group its rows; empty if all rows are one group.
        where: an expression that rows must satisfy; None if all rows count, or a function of the user decides.
        reads: the columns of the input that the step reads, without `ts`.
        output: the columns of its output; the first is `ts`.
        user_functions: whether functions of the user compute the result or choose the rows.
        unit: unit of event time.
        flushes: whether the end of the input closes open windows.
        before: the declaration of the previous step; None if the input is a table or generated.
    """

    name: str
    step: Step
    keys: tuple[str, ...]
    where: str | None
    reads: tuple[Column, ...]
    output: tuple[Column, ...]
    user_functions: bool
    unit: str
    flushes: bool = False
    before: "Declaration | None" = field(default=None)

    def steps(self) -> "tuple[Declaration, ...]":
        """Return all steps, the first one first."""
        return (*(self.before.steps() if self.before else ()), self)

    @property
    def on_rows(self) -> bool:
        """Whether an output of the step has the time of a row; False for joins and windows of time."""
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
