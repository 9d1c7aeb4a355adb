"""Generates the SQL of a declared workload: a common table expression for each step.

The text needs only the table `row_events` (see `tables`), so users can copy and change it.
The query adds floats in the order that the model fixes, so it must sort the rows of each window.
Running counts use CASE, because with FILTER they take quadratic time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamlab.engines.declared_queries import (
    Dialect,
    Translated,
    adds_in_order,
    nan_columns,
    order_of_windows,
    select_pairs,
    translate_expression,
    value_of_aggregate,
)
from streamlab.workloads.declarative.aggregates import Bins, beyond_most
from streamlab.workloads.declarative.declaration import (
    ASOF,
    COUNT,
    INNER,
    LATE_BY,
    LEFT,
    MATCHED,
    OUTER,
    RIGHT,
    ROW,
    SESSION,
    Aggregate,
    AlertStep,
    Declaration,
    DeduplicateStep,
    Function,
    JoinStep,
    SelectStep,
    TopStep,
    WindowStep,
)
from streamlab.workloads.declarative.expressions import FLOAT

EVENTS = f"{ROW}_events"
SIDES = (f"{LEFT}_events", f"{RIGHT}_events")
ORDER = "ts, src, row"
"""The total order of an input's rows, and of outputs of steps on rows."""

BINS = """\
-- The largest power of two up to a number above 0, and the middle of the bin that holds a number.
CREATE OR REPLACE TEMP MACRO power_near(v) AS pow(2::DOUBLE, floor(log2(v)));
CREATE OR REPLACE TEMP MACRO power_of_two(v) AS
    CASE WHEN power_near(v) > v THEN power_near(v) / 2
        WHEN power_near(v) * 2 <= v THEN power_near(v) * 2 ELSE power_near(v) END;
CREATE OR REPLACE TEMP MACRO middle_of_bin(v, smallest, largest, steps) AS
    CASE WHEN v < 0 THEN '-inf'::DOUBLE WHEN v < smallest THEN smallest / 2
        WHEN v > largest THEN 'inf'::DOUBLE
        ELSE power_of_two(v) * (1 + (floor((v / power_of_two(v) - 1) * steps) + 0.5e0) / steps) END"""


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _number(value: int | float | bool) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 31 else f"{value}::BIGINT"
    text = repr(value)
    return f"'{text}'::DOUBLE" if "n" in text else text if "e" in text else f"{text}e0"


SQL = Dialect(
    column=_quote,
    number=_number,
    integer="{}::BIGINT",
    both="AND",
    either="OR",
    negation="(NOT {})",
    equal="=",
    unequal="<>",
    is_nan="isnan({})",
)


def generate(declaration: Declaration) -> list[str]:
    """Return the statements of the query; the last one selects the answer."""
    tables: list[str] = []
    steps = declaration.steps()
    for number, part in enumerate(steps, start=1):
        source = f"step_{number - 1}" if number > 1 else EVENTS
        numbers = not part.on_rows and any(step.on_rows for step in steps[number : number + 1])
        tables += _Step(part, source, f"step_{number}", numbers, declaration.flushes).tables()
    columns = [_quote(column.name) for column in declaration.output]
    order = ORDER
    if not declaration.on_rows:
        names = order_of_windows(declaration)
        order = ", ".join(name if name in ("ts", "rank") else _quote(name) for name in names)
    recursive = "RECURSIVE " if any("UNION ALL\n" in table for table in tables) else ""
    query = (
        f"WITH {recursive}{', '.join(tables)}\n"
        f"SELECT {', '.join(columns)}\nFROM step_{len(steps)}\nORDER BY {order}\n"
    )
    return [*BINS.split(";\n"), query] if "middle_of_bin(" in query else [query]


@dataclass(frozen=True, slots=True)
class _Step:
    """Writes one step: the table `name` from the table `source`.

    Attributes:
        declaration: the step.
        source: the table that it reads.
        name: the table that it makes.
        numbers: whether outputs of windows need the columns that order rows of equal time, for a later step on rows.
        flushes: whether the end of the input closes windows.
    """

    declaration: Declaration
    source: str
    name: str
    numbers: bool
    flushes: bool

    def tables(self) -> list[str]:
        """Return the common table expressions of the step; the last one is its output."""
        step = self.declaration.step
        if isinstance(step, WindowStep):
            kinds = {COUNT: self._count_window, SESSION: self._session}
            return [kinds.get(step.kind, self._time_window)(step)]
        if isinstance(step, TopStep):
            return [self._top(step)]
        if isinstance(step, DeduplicateStep):
            return self._deduplicate(step)
        if isinstance(step, AlertStep):
            return [self._alert(step)]
        if isinstance(step, JoinStep):
            return [self._join(step)]
        assert isinstance(step, SelectStep), "functions of the user are refused"
        return [self._select(step)]

    def _table(self, text: str, name: str | None = None) -> str:
        lines = "\n".join(f"    {line}" if line else "" for line in text.strip().split("\n"))
        return f"{name or self.name} AS (\n{lines}\n)"

    def _expression(self, text: str) -> Translated:
        return translate_expression(text, self.declaration, SQL)

    @property
    def _key_columns(self) -> str:
        """The keys, each followed by a comma, as the start of a list of columns."""
        return "".join(f"{_quote(name)}, " for name in self.declaration.keys)

    def _per_key(self, *extra_columns: str) -> str:
        """Return the partition of a window function: the keys and further columns."""
        columns = [*map(_quote, self.declaration.keys), *extra_columns]
        return f"PARTITION BY {', '.join(columns)} " if columns else ""

    @property
    def _filtered_source(self) -> str:
        """The source and its filter."""
        where = self.declaration.where
        return (
            self.source
            if where is None
            else (f"{self.source}\n{'WHERE'} {self._expression(where).bare}")
        )

    @property
    def _row_order(self) -> str | None:
        """The order in which floats are added; None if the model fixes none."""
        return ORDER if adds_in_order(self.declaration) else None

    def _aggregates(self, step: WindowStep, order: str | None) -> str:
        values = [
            f"{self._aggregate(aggregate, order)} AS {_quote(name)}"
            for name, aggregate in (step.result or {}).items()
        ]
        return ",\n    ".join(values)

    def _aggregate(self, aggregate: Aggregate, order: str | None) -> str:
        value = value_of_aggregate(aggregate, self.declaration, SQL)
        if value is None:
            return "count(*)"
        text, function = value.bare, aggregate.function
        if function is Function.DISTINCT:
            number, message = f"count(DISTINCT {text})", beyond_most(aggregate)
            return f"if({number} > {aggregate.most}, error({_text(message)}), {number})"
        if function is Function.PERCENTILE:
            return self._percentile(aggregate, value)
        if function is Function.MAX and value.may_be_nan:  # max would return NaN
            return f"coalesce(max({text}) FILTER (WHERE NOT isnan({text})), 'nan'::DOUBLE)"
        if function in (Function.MIN, Function.MAX):
            return f"{function.value}({text})"
        if value.dtype == FLOAT:
            total = f"sum({text})" if order is None else f"sum({text} ORDER BY {order})"
        else:
            total = f"sum({text})::BIGINT"
        return f"{total} / count(*)" if function is Function.MEAN else total

    def _percentile(self, aggregate: Aggregate, value: Translated) -> str:
        """Return the SQL of a percentile: take the value at the percentile's rank, and return the middle of its bin."""
        bins = Bins.from_aggregate(aggregate)
        rank = f"ceil(count(*) * {_number(float(aggregate.percent))} / 100)::BIGINT"
        percentile = f"list({value.text}::DOUBLE ORDER BY {value.bare})[{rank}]"
        limits = f"{_number(bins.smallest)}, {_number(float(aggregate.high))}"
        return f"middle_of_bin({percentile}, {limits}, {bins.steps})"

    def _has_closed(self, end: str = "end_") -> str:
        """Return the SQL condition that the time `end` has passed."""
        if self.flushes:
            return "TRUE"
        first = self.declaration.steps()[0]
        if not isinstance(first.step, JoinStep):
            return f"{end} <= (SELECT max(ts) FROM {EVENTS})"
        # Rows of a join may be later than those of its tables.
        tables = [*SIDES, *(["step_1"] if self.declaration.before else [])]
        latest = ", ".join(f"(SELECT max(ts) FROM {table})" for table in tables)
        return f"{end} <= greatest({latest})"

    def _boundary(self, size: int, advance: int) -> str:
        """Return the SQL of the right boundaries of a row's windows."""
        begin = f"ts - (ts % {advance} + {advance}) % {advance}"
        if size == advance:
            return f"{begin} + {size}"
        return f"unnest(range({begin}, ts - {size}, -{advance})) + {size}"

    def _end(self, row: str = "0") -> str:
        """Return the columns with a window's time and, if `numbers`, its order among windows of equal time."""
        return f"end_ AS ts, 0 AS src, {row} AS row" if self.numbers else "end_ AS ts"

    def _join(self, step: JoinStep) -> str:
        """Return the table of joined rows; an outer join also has rows without a partner."""
        kind = {INNER: "JOIN", OUTER: "LEFT JOIN", ASOF: "ASOF LEFT JOIN"}[step.how]
        right, bounds = SIDES[1], f"r.ts BETWEEN l.ts - {step.before} AND l.ts + {step.after}"
        if step.how == ASOF:
            bounds = "l.ts >= r.ts"
            place_columns = ", ".join([*(_quote(key.name) for key in step.keys), "ts"])
            is_last = (
                f"row_number() OVER (PARTITION BY {place_columns} ORDER BY src DESC, row DESC) = 1"
            )
            right = f"(\n    SELECT * FROM {right}\n    QUALIFY {is_last}\n)"
        pairs = select_pairs(step, SQL, f"{SIDES[0]} AS l {kind} {right} AS r", bounds)
        end, where = "at_", ""
        if step.how == OUTER:
            end = f"at_ - (at_ % {step.every} + {step.every}) % {step.every} + {step.every}"
            where = "" if self.flushes else f"\nWHERE {MATCHED} OR {self._has_closed('ts')}"
        place = ", 0 AS src, 0 AS row" if self.numbers else ""
        partner = "" if step.how == INNER else f", {MATCHED}"
        return self._table(
            f"SELECT {end} AS ts{place}, {self._values(step.outputs())}{partner}\n"
            f"FROM (\n{_indent(pairs)}\n){where}"
        )

    def _time_window(self, step: WindowStep) -> str:
        boundary = self._boundary(step.size, step.advance)
        after = step.closes_after
        late_filter = "" if after is None else f" AND ts + {LATE_BY} < end_ + {after}"
        return self._table(
            f"SELECT {self._end()}, {self._key_columns}{self._aggregates(step, self._row_order)}\n"
            f"FROM (\n{_indent(f'SELECT *, {boundary} AS end_ FROM {self._filtered_source}')}\n)\n"
            f"WHERE {self._has_closed()}{late_filter}\n"
            f"GROUP BY {self._key_columns}end_"
        )

    def _session(self, step: WindowStep) -> str:
        pause = step.size
        end = f"max(ts) - (max(ts) % {pause} + {pause}) % {pause} + {2 * pause}"
        starts = (
            f"SELECT *, (ts - lag(ts) OVER ({self._per_key()}ORDER BY ts) > {pause}) AS starts_\n"
            f"FROM {self._filtered_source}"
        )
        numbered = (
            f"SELECT *, count(CASE WHEN starts_ THEN 1 END) OVER ({self._per_key()}ORDER BY ts) AS session_\n"
            f"FROM (\n{_indent(starts)}\n)"
        )
        sessions = (
            f"SELECT {end} AS end_, {self._key_columns}min(ts) AS first, max(ts) AS last, session_,\n"
            f"    {self._aggregates(step, self._row_order)}\n"
            f"FROM (\n{_indent(numbered)}\n)\n"
            f"GROUP BY {self._key_columns}session_"
        )
        outputs = ", ".join(_quote(column.name) for column in self.declaration.output[1:])
        return self._table(
            f"SELECT {self._end()}, {outputs}\n"
            f"FROM (\n{_indent(sessions)}\n)\n"
            "-- A later session of the key ends a session, and so does the end of a window of the pause.\n"
            f"QUALIFY {self._has_closed()} OR session_ < max(session_) OVER ({self._per_key().strip()})"
        )

    def _count_window(self, step: WindowStep) -> str:
        numbered = (
            f"SELECT *, row_number() OVER ({self._per_key()}ORDER BY {ORDER}) AS number_\n"
            f"FROM {self._filtered_source}"
        )
        return self._table(
            "SELECT max(ts) AS ts, arg_max(src, number_) AS src, arg_max(row, number_) AS row, "
            f"{self._key_columns}{self._aggregates(step, 'number_')}\n"
            f"FROM (\n{_indent(numbered)}\n)\n"
            f"GROUP BY {self._key_columns}(number_ - 1) // {step.size}\n"
            f"HAVING count(*) = {step.size}"
        )

    def _top(self, step: TopStep) -> str:
        rank_column = _quote(step.by)
        nan_last = [f"isnan({rank_column})"] if step.by in nan_columns(self.declaration) else []
        order = [*nan_last, f"{rank_column} DESC", *map(_quote, step.columns), "ts"]
        columns = "".join(f"{_quote(name)}, " for name in step.columns)
        rank = f"row_number() OVER ({self._per_key('end_')}ORDER BY {', '.join(order)})"
        inner = (
            f"SELECT *, {self._boundary(step.size, step.size)} AS end_ FROM {self._filtered_source}"
        )
        ranked = (
            f"SELECT *, {rank} AS rank_\nFROM (\n{_indent(inner)}\n)\nWHERE {self._has_closed()}"
        )
        return self._table(
            f"SELECT {self._end('rank_')}, {self._key_columns}rank_ AS rank, {_quote(step.by)}, {columns}ts AS at\n"
            f"FROM (\n{_indent(ranked)}\n)\n"
            f"WHERE rank_ <= {step.most}"
        )

    def _outputs(self, names: Sequence[str]) -> str:
        return ", ".join(
            [ORDER, *([self._key_columns[:-2]] if self._key_columns else []), *map(_quote, names)]
        )

    def _deduplicate(self, step: DeduplicateStep) -> list[str]:
        number = f"row_number() OVER ({self._per_key()}ORDER BY {ORDER})"
        outputs = self._outputs(step.columns)
        if step.within is None:
            return [
                self._table(f"SELECT {outputs}\nFROM {self._filtered_source}\nQUALIFY {number} = 1")
            ]
        rows = f"rows_of_{self.name}"
        conditions = [f"later.{key} = earlier.{key}" for key in map(_quote, self.declaration.keys)]
        conditions.append("later.number_ = earlier.next_")
        near = f"RANGE BETWEEN UNBOUNDED PRECEDING AND {step.within} FOLLOWING"
        numbered = (
            f"SELECT *, {number} AS number_,\n"
            f"    1 + count(*) OVER ({self._per_key()}ORDER BY ts {near}) AS next_,\n"
            f"    coalesce(ts - lag(ts) OVER ({self._per_key()}ORDER BY {ORDER}) > {step.within}, TRUE) "
            f"AS first_\n"
            f"FROM {self._filtered_source}"
        )
        leaving = (
            f"SELECT * FROM {rows} WHERE first_\n"
            "UNION ALL\n"
            f"SELECT later.* FROM leaving_{self.name} AS earlier JOIN {rows} AS later\n"
            f"ON {' AND '.join(conditions)}\n"
            "WHERE NOT later.first_"
        )
        return [
            self._table(numbered, rows),
            self._table(leaving, f"leaving_{self.name}"),
            self._table(f"SELECT {outputs}\nFROM leaving_{self.name}"),
        ]

    def _alert(self, step: AlertStep) -> str:
        condition = self._expression(step.condition).text
        per_run = self._per_key("run_")
        runs = (
            f"SELECT *, {condition} AS holds_,\n"
            f"    count(CASE WHEN NOT {condition} THEN 1 END)\n"
            f"        OVER ({self._per_key()}ORDER BY {ORDER} ROWS UNBOUNDED PRECEDING) AS run_\n"
            f"FROM {self.source}"
        )
        since = f"SELECT *, min(ts) OVER ({per_run.strip()}) AS since_\nFROM (\n{_indent(runs)}\n)\nWHERE holds_"
        outputs = ", ".join(
            [
                ORDER,
                *([self._key_columns[:-2]] if self._key_columns else []),
                "since_ AS since",
                *map(_quote, step.columns),
            ]
        )
        return self._table(
            f"SELECT {outputs}\n"
            f"FROM (\n{_indent(since)}\n)\n"
            f"WHERE ts - since_ >= {step.lasting}\n"
            f"QUALIFY row_number() OVER ({per_run}ORDER BY {ORDER}) = 1"
        )

    def _select(self, step: SelectStep) -> str:
        condition, window = "", step.too_late_for
        if window is not None:
            end = self._boundary(window.advance, window.advance)
            after = window.size - window.advance + (window.closes_after or 0)
            condition = f"\nWHERE ts + {LATE_BY} >= {end} + {after}"
        values = self._values(step.columns)
        return self._table(f"SELECT {ORDER}, {values}\nFROM {self._filtered_source}{condition}")

    def _values(self, columns: Mapping[str, str]) -> str:
        """Return expressions as columns of the output."""
        values = [(self._expression(text).bare, _quote(name)) for name, text in columns.items()]
        return ", ".join(text if text == name else f"{text} AS {name}" for text, name in values)


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
