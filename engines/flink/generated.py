"""Generates the Flink SQL of a declared workload: a view for each step, in streaming mode with event-time watermarks.

The text needs the table `row_events` (Sql.java) and up to three small functions of the lab.
The time of a row for Flink is its column `time_`.
Flink adds floats in the order of arrival, as the model does, except in panes that sliding windows share.
Flink stamps a window's result 1 ms before the window's end; the model stamps it with the end. Windows over window
results therefore need an offset.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from streamlab.engines.declared_queries import (
    Dialect,
    Translated,
    adds_in_order,
    columns_before,
    is_float,
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
from streamlab.workloads.declarative.expressions import FLOAT, INT

EVENTS = f"{ROW}_events"
PLACE = "ts, src, `row`, time_"
"""The columns of a row's place in the total order, and its time for Flink."""
KIND = "kind_"
"""The column that distinguishes the tables of a join."""
UNITS = (("DAY", 86_400_000), ("HOUR", 3_600_000), ("MINUTE", 60_000), ("SECOND", 1000))
"""Units of SQL intervals, in ms."""


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _number(value: int | float | bool) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    text = repr(value)
    if isinstance(value, int):
        return text if abs(value) < 1 << 31 else f"CAST({text} AS BIGINT)"
    return f"CAST('{text}' AS DOUBLE)" if "n" in text else text if "e" in text else f"{text}e0"


SQL = Dialect(
    column=_quote,
    number=_number,
    integer="CAST({} AS BIGINT)",
    dividend="CAST({} AS DOUBLE)",
    divisor="{}",
    both="AND",
    either="OR",
    negation="(NOT {})",
    equal="=",
    unequal="<>",
    is_nan="({0} <> {0})",  # Flink compares as IEEE 754 does.
)


def interval(units: int) -> str:
    """Return an interval of event time; Flink takes a unit of event time for a millisecond."""
    sign, units = "-" if units < 0 else "", abs(units)
    for name, size in UNITS:
        if units and units % size == 0:
            count = str(units // size)
            precision = f"({len(count)})" if len(count) > 2 else ""
            return f"INTERVAL '{sign}{count}' {name}{precision}"
    seconds = str(units // 1000)
    return f"INTERVAL '{sign}{seconds}.{units % 1000:03}' SECOND({max(len(seconds), 2)}, 3)"


def slow_parts(part: Declaration) -> Iterator[str]:
    """Yield the parts of a step's query that a hand-written program does faster."""
    step = part.step
    if isinstance(step, WindowStep):
        if _needs_row_copies(part, step):
            yield f"copies each row into its {-(-step.size // step.advance)} windows"
        if any(
            aggregate.function is Function.PERCENTILE for aggregate in (step.result or {}).values()
        ):
            yield "sorts the values of each window for a percentile"
    if isinstance(step, AlertStep) or (isinstance(step, WindowStep) and step.kind == COUNT):
        yield "stores the state of ended windows or runs"
    if isinstance(step, DeduplicateStep) and step.within is not None:
        yield "finds the output rows with MATCH_RECOGNIZE"
    if _is_reordered(part):
        yield "sorts its input, which comes from several tasks"


def _needs_row_copies(part: Declaration, step: WindowStep) -> bool:
    """Return whether Flink must copy rows into each sliding window.

    Windows cannot share panes if a window filters its rows, or adds floats in order.
    """
    if step.kind in (COUNT, SESSION) or step.size == step.advance:
        return False
    aggregates = (step.result or {}).values()
    return bool(_conditions(step)) or (
        adds_in_order(part)
        and any(
            aggregate.function in (Function.SUM, Function.MEAN) and is_float(aggregate, part)
            for aggregate in aggregates
        )
    )


def _extra_size(step: WindowStep) -> int:
    """Return how much longer Flink's windows are than the step's: their sizes must be multiples of the advance."""
    return 0 if step.kind in (COUNT, SESSION) else -step.size % step.advance


def _conditions(step: WindowStep) -> list[str]:
    """Return the SQL conditions under which a row of Flink's window also belongs to the step's window."""
    conditions = ["ts < end_"] if _extra_size(step) else []
    if step.closes_after is not None:
        conditions.append(f"ts + {LATE_BY} < end_ + {step.closes_after}")
    return conditions


def _is_reordered(part: Declaration) -> bool:
    """Return whether a step depends on the order of its input but gets its input from several tasks."""
    if not part.on_rows or isinstance(part.step, SelectStep):
        return False
    return any(not isinstance(before.step, SelectStep) for before in part.steps()[:-1])


def generate(declaration: Declaration) -> str:
    """Return the statements of the query, separated by `;` and a line end; the last one selects the answer."""
    statements: list[str] = []
    steps = declaration.steps()
    offset_ms = 0
    for number, part in enumerate(steps, start=1):
        source = f"step_{number - 1}" if number > 1 else EVENTS
        statements += _Step(part, source, f"step_{number}", offset_ms).views()
        offset_ms += 1 - (_extra_size(part.step) if isinstance(part.step, WindowStep) else 0)
    names = [_quote(column.name) for column in declaration.output]
    place = ["src", "`row`"] if declaration.on_rows else []
    statements.append(f"SELECT {', '.join([*names, *place])}\nFROM step_{len(steps)}")
    text = ";\n".join(statements)
    classes = {"millis": "Millis", "middle_of_bin": "MiddleOfBin", "at_most": "AtMost"}
    functions = [
        f"CREATE TEMPORARY FUNCTION {name} AS 'streamlab.{java}';\n"
        for name, java in classes.items()
        if f"{name}(" in text
    ]
    unit = declaration.unit
    comment = (
        ""
        if unit == "ms"
        else f"-- A millisecond of this query is a unit of event time, 1 {unit}.\n"
    )
    return comment + "".join(functions) + text + "\n"


@dataclass(frozen=True, slots=True)
class _Step:
    """Writes one step.

    Attributes:
        declaration: the step.
        source: the view that the step reads.
        name: the view that the step makes.
        offset_ms: event time minus `time_` of the source's rows.
    """

    declaration: Declaration
    source: str
    name: str
    offset_ms: int

    def views(self) -> list[str]:
        """Return the statements of the step; the last one makes its output."""
        step = self.declaration.step
        if isinstance(step, WindowStep):
            kinds = {COUNT: self._count_window, SESSION: self._session}
            return kinds.get(step.kind, self._time_window)(step)
        if isinstance(step, TopStep):
            return self._top(step)
        if isinstance(step, DeduplicateStep):
            return self._deduplicate(step)
        if isinstance(step, AlertStep):
            return self._alert(step)
        if isinstance(step, JoinStep):
            return self._join(step)
        assert isinstance(step, SelectStep), "untranslatable refuses functions of the user"
        late_filter, window = "", step.too_late_for
        if window is not None:
            after = window.size + (window.closes_after or 0)
            late_filter = f"\nWHERE ts + {LATE_BY} >= {_round_down('ts', window.advance)} + {after}"
        select_list = self._select_list(step.columns)
        return [
            self._view(
                f"SELECT {PLACE}, {select_list}\nFROM {self._filtered_source()}{late_filter}"
            )
        ]

    def _view(self, text: str, name: str | None = None) -> str:
        return f"CREATE TEMPORARY VIEW {name or self.name} AS\n{text}"

    def _expression(self, text: str) -> Translated:
        return translate_expression(text, self.declaration, SQL)

    @property
    def _keys(self) -> list[str]:
        return [*map(_quote, self.declaration.keys)]

    def _partition(self, *extra_columns: str) -> str:
        columns = [*self._keys, *extra_columns]
        return f"PARTITION BY {', '.join(columns)} " if columns else ""

    def _so_far(self, *extra_columns: str) -> str:
        """Return the OVER clause for all rows up to the current one, in the order of arrival."""
        partition = self._partition(*extra_columns)
        return f"{partition}ORDER BY time_ ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"

    def _filtered_source(self, source: str | None = None) -> str:
        """Return a source and the filter of the step."""
        where = self.declaration.where
        condition = "" if where is None else f"\nWHERE {self._expression(where).bare}"
        return f"{source or self.source}{condition}"

    def _results(self, step: WindowStep) -> str:
        values = [
            f"{self._aggregate(aggregate)} AS {_quote(name)}"
            for name, aggregate in (step.result or {}).items()
        ]
        return ",\n    ".join(values)

    def _aggregate(self, aggregate: Aggregate, over: str = "") -> str:
        """Return an aggregate over the rows of a window."""
        value = value_of_aggregate(aggregate, self.declaration, SQL)
        if value is None:
            return f"COUNT(*){over}"
        text, function = _column(value), aggregate.function
        if function is Function.DISTINCT:
            number, message = f"COUNT(DISTINCT {text}){over}", beyond_most(aggregate)
            return f"at_most({number}, {aggregate.most}, {_text(message)})"
        if function is Function.PERCENTILE:
            rank = f"CAST(CEIL(COUNT(*){over} * {_number(float(aggregate.percent))} / 100) AS INT)"
            bins = Bins.from_aggregate(aggregate)
            values = f"ARRAY_SORT(ARRAY_AGG(CAST({value.bare} AS DOUBLE)){over})"
            limits = f"{_number(bins.smallest)}, {_number(float(aggregate.high))}"
            return f"middle_of_bin({values}[{rank}], {limits}, {bins.steps})"
        if function is not Function.MEAN:
            return f"{function.value.upper()}({text}){over}"
        total = f"SUM({text}){over}"
        return f"{total if value.dtype == FLOAT else SQL.dividend.format(total)} / COUNT(*){over}"

    def _end(self, text: str, extra_ms: int = 0) -> str:
        """Return the SQL of the event time of `text`, the end of a Flink window, plus `extra_ms`."""
        offset = self.offset_ms + extra_ms
        return f"millis({text})" + (
            f" {'-' if offset < 0 else '+'} {abs(offset)}" if offset else ""
        )

    def _windows(self, function: str, advance: int, *sizes: int) -> str:
        """Return the SQL of a table of windows, shifted by the difference between event times and `time_`."""
        offset = self.offset_ms % advance
        arguments = [*map(interval, sizes), *([interval(-offset)] if offset else [])]
        return f"TABLE({function}(TABLE {self.source}, DESCRIPTOR(time_), {', '.join(arguments)}))"

    def _time_window(self, step: WindowStep) -> list[str]:
        keys = "".join(f"{key}, " for key in self._keys)
        table, extra = self._windows("TUMBLE", step.size, step.size), _extra_size(step)
        if step.advance != step.size:
            table = self._windows("HOP", step.advance, step.advance, step.size + extra)
        end, rows = self._end("window_end"), self._filtered_source(table)
        conditions = _conditions(step)
        if conditions or _needs_row_copies(self.declaration, step):
            # `end_` depends on the row's window, which makes Flink add the rows of each window one by one.
            windows = f"SELECT *, {self._end('window_end', -extra)} AS end_\nFROM {rows}"
            end, rows = "MAX(end_)", f"(\n{_indent(windows)}\n)"
            rows += f"\nWHERE {' AND '.join(conditions)}" if conditions else ""
        return [
            self._view(
                f"SELECT {end} AS ts, window_time AS time_, {keys}{self._results(step)}\n"
                f"FROM {rows}\n"
                f"GROUP BY {keys}window_start, window_end, window_time"
            )
        ]

    def _session(self, step: WindowStep) -> list[str]:
        views, source, keys = [], self.source, "".join(f"{key}, " for key in self._keys)
        if self.declaration.where is not None:
            source = f"rows_of_{self.name}"
            views.append(self._view(f"SELECT *\nFROM {self._filtered_source()}", source))
        pause = step.size
        end = f"{_round_down('MAX(ts)', pause)} + {2 * pause}"
        table, group = f"TABLE {source} {self._partition()}".rstrip(), "window_start, window_end"
        rows = f"TABLE(SESSION({table}, DESCRIPTOR(time_), {interval(pause)}))"
        if len(self._keys) > 1:  # Flink 2.3 finds only the first column of PARTITION BY here.
            rows, group = source, f"SESSION(time_, {interval(pause)})"
        return [
            *views,
            self._view(
                f"SELECT {end} AS ts, {keys}MIN(ts) AS `first`, MAX(ts) AS `last`,\n"
                f"    {self._results(step)}\n"
                f"FROM {rows}\n"
                f"GROUP BY {keys}{group}"
            ),
        ]

    def _top(self, step: TopStep) -> list[str]:
        order = [f"{_quote(step.by)} DESC", *map(_quote, step.columns), "ts"]
        rank = f"ROW_NUMBER() OVER ({self._partition('window_start', 'window_end')}ORDER BY {', '.join(order)})"
        keys = "".join(f"{key}, " for key in self._keys)
        other_columns = "".join(f"{_quote(name)}, " for name in (step.by, *step.columns))
        ranked = (
            f"SELECT *, {rank} AS rank_\n"
            f"FROM {self._filtered_source(self._windows('TUMBLE', step.size, step.size))}"
        )
        return [
            self._view(
                f"SELECT {self._end('window_end')} AS ts, window_time AS time_, {keys}rank_ AS `rank`, "
                f"{other_columns}ts AS `at`\nFROM (\n{_indent(ranked)}\n)\nWHERE rank_ <= {step.most}"
            )
        ]

    def _order_rows(self) -> tuple[list[str], str]:
        """Return views that order a step's input, and the name of the ordered input."""
        if not _is_reordered(self.declaration):
            return [], self.source
        names = [
            "ts",
            "src",
            "`row`",
            *(_quote(column.name) for column in columns_before(self.declaration)),
        ]
        measures = [
            f"A.{name} AS {name}" for name in dict.fromkeys(names) if name not in self._keys
        ]
        ordered_view = f"ordered_{self.name}"
        text = (
            f"SELECT *\nFROM {self.source} MATCH_RECOGNIZE (\n"
            f"    {self._partition()}ORDER BY time_, src, `row`\n"
            f"    MEASURES {', '.join(measures)}, MATCH_ROWTIME() AS time_\n"
            "    ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW\n"
            "    PATTERN (A) DEFINE A AS TRUE\n)"
        )
        return [self._view(text, ordered_view)], ordered_view

    def _number_rows(self, source: str) -> str:
        return f"SELECT *, COUNT(*) OVER ({self._so_far()}) AS number_\nFROM {self._filtered_source(source)}"

    def _count_window(self, step: WindowStep) -> list[str]:
        views, source = self._order_rows()
        results = ",\n    ".join(
            f"{self._aggregate(aggregate, ' OVER w')} AS {_quote(name)}"
            for name, aggregate in (step.result or {}).items()
        )
        windows = (
            f"SELECT *, (number_ - 1) / {step.size} AS window_\n"
            f"FROM (\n{_indent(self._number_rows(source))}\n)"
        )
        keys = "".join(f"{key}, " for key in self._keys)
        results = (
            f"SELECT {PLACE}, {keys}number_,\n    {results}\nFROM (\n{_indent(windows)}\n)\n"
            f"WINDOW w AS ({self._so_far('window_')})"
        )
        outputs = ", ".join(_quote(column.name) for column in self.declaration.output[1:])
        return [
            *views,
            self._view(
                f"SELECT {PLACE}, {outputs}\nFROM (\n{_indent(results)}\n)\n"
                f"WHERE MOD(number_, {step.size}) = 0"
            ),
        ]

    def _outputs(self, names: Sequence[str]) -> str:
        return ", ".join([PLACE, *self._keys, *map(_quote, names)])

    def _first_rows(self, text: str, *keys: str) -> str:
        """Return the first row of each key."""
        number = f"ROW_NUMBER() OVER ({self._partition(*keys)}ORDER BY time_)"
        return f"(\n    SELECT *, {number} AS first_\n    FROM {_indent(text).strip()}\n)\nWHERE first_ = 1"

    def _join(self, step: JoinStep) -> list[str]:
        """Return the views of both tables and of the joined rows; an as-of join adds the right table's versions."""
        views = [
            self._view(f"SELECT *\nFROM {self.source}\nWHERE {KIND} = {kind}", f"{side}_events")
            for kind, side in enumerate(step.kinds)
        ]
        right, kind, bounds = f"{RIGHT}_events", "JOIN" if step.how == INNER else "LEFT JOIN", ""
        if step.how == ASOF:
            keys = ", ".join(_quote(key.name) for key in step.keys)
            latest = f"ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY time_ DESC) AS number_"
            numbered = f"SELECT *, {latest}\nFROM {right}"
            versions = f"SELECT *\nFROM (\n{_indent(numbered)}\n)\nWHERE number_ = 1"
            views.append(self._view(versions, f"{RIGHT}_versions"))
            right = f"{RIGHT}_versions FOR SYSTEM_TIME AS OF l.time_"
        else:
            assert step.before is not None, "only as-of joins have no bounds"
            low, high = interval(step.before), interval(step.after)
            bounds = f"r.time_ BETWEEN l.time_ - {low} AND l.time_ + {high}"
        tables = f"{LEFT}_events AS l {kind} {right} AS r"
        pairs = select_pairs(step, SQL, tables, bounds, ["l.time_ AS time_"])
        end = f"{_round_down('at_', step.every)} + {step.every}" if step.how == OUTER else "at_"
        partner = "" if step.how == INNER else f", {MATCHED}"
        return [
            *views,
            self._view(
                f"SELECT {end} AS ts, 0 AS src, 0 AS `row`, time_, "
                f"{self._select_list(step.outputs())}{partner}\nFROM (\n{_indent(pairs)}\n)"
            ),
        ]

    def _deduplicate(self, step: DeduplicateStep) -> list[str]:
        views, source = self._order_rows()
        first_rows = f"SELECT {self._outputs(step.columns)}\nFROM {self._first_rows(self._filtered_source(source))}"
        if step.within is None:
            return [*views, self._view(first_rows)]
        if self.declaration.where is not None:
            filtered_view = f"rows_of_{self.name}"
            views.append(
                self._view(f"SELECT *\nFROM {self._filtered_source(source)}", filtered_view)
            )
            source = filtered_view
            first_rows = f"SELECT {self._outputs(step.columns)}\nFROM {self._first_rows(source)}"
        names = ["ts", "src", "`row`", *map(_quote, step.columns)]
        measures = ", ".join(f"later.{name} AS {name}" for name in dict.fromkeys(names))
        pattern = (
            f"SELECT {self._outputs(step.columns)}\nFROM {source} MATCH_RECOGNIZE (\n"
            f"    {self._partition()}ORDER BY time_, src, `row`\n"
            f"    MEASURES {measures}, MATCH_ROWTIME() AS time_\n"
            "    ONE ROW PER MATCH AFTER MATCH SKIP TO LAST later\n"
            "    PATTERN (leaving duplicate* later)\n"
            f"    DEFINE duplicate AS duplicate.ts - FIRST(leaving.ts) <= {step.within},\n"
            f"        later AS later.ts - FIRST(leaving.ts) > {step.within}\n)"
        )
        return [*views, self._view(f"{first_rows}\nUNION ALL\n{pattern}")]

    def _alert(self, step: AlertStep) -> list[str]:
        views, source = self._order_rows()
        condition = self._expression(step.condition).text
        runs = (
            f"SELECT *, {condition} AS holds_,\n"
            f"    COUNT(CASE WHEN NOT {condition} THEN 1 END) OVER ({self._so_far()}) AS run_\nFROM {source}"
        )
        since = (
            f"SELECT *, MIN(ts) OVER ({self._so_far('run_')}) AS since_\n"
            f"FROM (\n{_indent(runs)}\n)\nWHERE holds_"
        )
        long_runs = f"(\n{_indent(since)}\n)\nWHERE ts - since_ >= {step.lasting}"
        outputs = ", ".join([PLACE, *self._keys, "since_ AS `since`", *map(_quote, step.columns)])
        return [*views, self._view(f"SELECT {outputs}\nFROM {self._first_rows(long_runs, 'run_')}")]

    def _select_list(self, columns: Mapping[str, str]) -> str:
        values = [(_column(self._expression(text)), _quote(name)) for name, text in columns.items()]
        return ", ".join(text if text == name else f"{text} AS {name}" for text, name in values)


def _round_down(ts: str, advance: int) -> str:
    """Return the largest multiple of an advance up to a time."""
    return f"{ts} - MOD(MOD({ts}, {advance}) + {advance}, {advance})"


def _column(value: Translated) -> str:
    """Return the text of a value. A constant whole number becomes a BIGINT, the type of columns."""
    if value.constant is not None and value.dtype == INT:
        return f"CAST({value.text} AS BIGINT)"
    return value.bare


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
