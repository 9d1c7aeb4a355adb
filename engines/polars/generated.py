"""Generates the Polars code of a declared workload: Python source with an expression chain for each step.

Floats are added by cumulative sums, because the model fixes the order of the rows, and a plain sum has no fixed order.
A constant divisor becomes a column, because Polars multiplies by the reciprocal of a constant divisor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamlab.engines.declared_queries import (
    Dialect,
    Translated,
    adds_in_order,
    nan_columns,
    order_of_windows,
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
    SESSION,
    Aggregate,
    AlertStep,
    Column,
    Declaration,
    DeduplicateStep,
    Function,
    JoinStep,
    SelectStep,
    TopStep,
    WindowStep,
)
from streamlab.workloads.declarative.expressions import BOOL, FLOAT, INT

END = '"end_"'
LAST = 'pl.col("ts").max().fill_null(0)'
LATEST = f'pl.col("ts") + pl.col("{LATE_BY}")'
HEAD = """\
import polars as pl


"""
AT_MOST = '''\
def at_most(most, message, numbers):
    """Return the numbers of different values; raise ValueError if one is above a maximum."""
    if (numbers > most).any():
        raise ValueError(message)
    return numbers


'''
BINS = '''\
def middle_of_bin(v, smallest, largest, steps):
    """Return the middle of the bin that holds a number: each power of two has `steps` bins."""
    near = pl.lit(2.0).pow(v.log(2).floor())
    power = pl.when(near > v).then(near / 2).when(near * 2 <= v).then(near * 2).otherwise(near)
    middle = power * (1 + (((v / power - 1) * steps).floor() + 0.5) / steps)
    middle = pl.when(v <= largest).then(middle).otherwise(float("inf"))
    middle = pl.when(v < smallest).then(smallest / 2).otherwise(middle)
    return pl.when(v < 0).then(float("-inf")).otherwise(middle)


'''


def _column(name: str) -> str:
    return f'pl.col("{name}")'


def _number(value: int | float | bool) -> str:
    text = repr(value)
    return f'float("{text}")' if "n" in text and not isinstance(value, bool) else text


POLARS = Dialect(
    column=_column,
    number=_number,
    integer="{}.cast(pl.Int64)",
    divisor='(pl.col("ts") * 0 + {})',
    both="&",
    either="|",
    negation="(~{})",
    equal="==",
    unequal="!=",
    is_nan="{}.is_nan()",
)


def generate(declaration: Declaration) -> str:
    """Return the source of a function `answer`, which takes the tables of an input (`tables.Tables`)."""
    steps = declaration.steps()
    first, closes = steps[0].step, not declaration.flushes
    needs_end = closes and any(map(_has_end, steps))
    is_join = isinstance(first, JoinStep)
    if isinstance(first, JoinStep):
        rows, lines = "times", [_side(first, side) for side in first.kinds]
        if needs_end:
            side_times = (
                f'{side}.select({_column(f"{side}.ts")}.alias("ts"))' for side in first.kinds
            )
            lines.append(f"times = pl.concat([{', '.join(side_times)}])")
    else:
        reads = "".join(f', "{column.name}"' for column in steps[0].reads)
        numbered = '.with_row_index("order_")' if steps[0].on_rows else ""
        rows, lines = "rows", [f"rows = tables.events(0{reads}){numbered}  # in total order"]
    if needs_end:
        lines.append(f"watermark = {rows}.select({LAST}).collect().item()")
    order = '"order_"'
    for number, part in enumerate(steps, start=1):
        source = f"step_{number - 1}" if number > 1 else "pairs" if is_join else "rows"
        lines += _Step(part, source, f"step_{number}", closes).lines()
        if number == 1 and is_join and closes and any(map(_has_end, steps[1:])):
            lines += [
                "step_1 = step_1.collect().lazy()",
                "# Rows of a join may be later than those of its tables.",
                f"watermark = max(watermark, step_1.select({LAST}).collect().item())",
            ]
        if not part.on_rows:
            order = ", ".join(f'"{name}"' for name in order_of_windows(part))
        if not part.on_rows and any(step.on_rows for step in steps[number : number + 1]):
            lines.append(f'step_{number} = step_{number}.sort({order}).with_row_index("order_")')
            order = '"order_"'
    names = ", ".join(f'"{column.name}"' for column in declaration.output)
    lines.append(f"return step_{len(steps)}.sort({order}).select({names})")
    body = "\n".join(f"    {line}" if line else "" for line in lines)
    bins = BINS if "middle_of_bin(" in body else ""
    head = HEAD
    if "at_most," in body:
        head, bins = f"from functools import partial\n\n{HEAD}", f"{bins}{AT_MOST}"
    return f"{head}{bins}def answer(tables):\n{body}\n"


@dataclass(frozen=True, slots=True)
class _Step:
    """Writes one step.

    Attributes:
        declaration: the step.
        source: the frame that the step reads.
        name: the frame that the step makes.
        closes: whether only windows up to the watermark have closed; False if all have.
    """

    declaration: Declaration
    source: str
    name: str
    closes: bool

    def lines(self) -> list[str]:
        """Return the lines that compute the output of the step."""
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
        assert isinstance(step, SelectStep), "functions of the user are refused"
        return self._select(step)

    def _chain(self, calls: Sequence[str], *, end: str = "", name: str | None = None) -> list[str]:
        """Return code that applies the step's filter, then a chain of calls, to the source and assigns the result."""
        where = self.declaration.where
        first = [] if where is None else [f".filter({self._condition(where)})"]
        lines = "\n".join([*first, *calls]).split("\n")
        return [
            f"{name or self.name} = (",
            f"    {self.source}",
            *(f"    {line}" for line in lines),
            f"){end}",
        ]

    def _condition(self, text: str) -> str:
        condition = translate_expression(text, self.declaration, POLARS)
        return condition.bare if condition.constant is None else f"pl.lit({condition.constant})"

    @property
    def _key_names(self) -> list[str]:
        return [f'"{name}"' for name in self.declaration.keys]

    def _over_keys(self, *extra_keys: str) -> str:
        keys = [*self._key_names, *extra_keys]
        return f".over({', '.join(keys)})" if keys else ""

    def _aggregates(
        self, step: WindowStep, groups: Sequence[str], extra_values: Sequence[str] = ()
    ) -> str:
        """Return the calls that group and aggregate."""
        is_ordered = adds_in_order(self.declaration)
        values, bins = list(extra_values), []
        for name, aggregate in (step.result or {}).items():
            values.append(f'{self._aggregate(aggregate, is_ordered)}.alias("{name}"),')
            if aggregate.function is Function.PERCENTILE:
                shape = Bins.from_aggregate(aggregate)
                limits = f"{_number(shape.smallest)}, {_number(float(aggregate.high))}"
                middle = f"middle_of_bin({_column(name)}, {limits}, {shape.steps})"
                bins.append(f'.with_columns({middle}.alias("{name}"))')
            if aggregate.function is Function.DISTINCT:
                check = f"partial(at_most, {aggregate.most}, {beyond_most(aggregate)!r})"
                bins.append(f".with_columns({_column(name)}.map_batches({check}))")
        lines = "\n".join(f"    {value}" for value in values)
        return "\n".join([f".group_by({', '.join(groups)})\n.agg(\n{lines}\n)", *bins])

    def _aggregate(self, aggregate: Aggregate, is_ordered: bool) -> str:
        value = value_of_aggregate(aggregate, self.declaration, POLARS)
        if value is None:
            return "pl.len()"
        text, function = _as_column(value), aggregate.function
        if function is Function.DISTINCT:
            return f"{text}.n_unique()"
        if function is Function.PERCENTILE:
            rank = f"(pl.len() * {_number(float(aggregate.percent))} / (pl.len() * 0 + 100.0)).ceil().cast(pl.Int64)"
            return f"{text}.cast(pl.Float64).sort().get({rank} - 1)"
        if function in (Function.MIN, Function.MAX):
            return f"{text}.{function.value}()"
        in_order = is_ordered and value.dtype == FLOAT
        total = f"{text}.cum_sum().last()" if in_order else f"{text}.sum()"
        return f"({total} / pl.len())" if function is Function.MEAN else total

    @property
    def _results(self) -> str:
        """The output columns after `ts`."""
        return ", ".join(f'"{column.name}"' for column in self.declaration.output[1:])

    def _time_window(self, step: WindowStep) -> list[str]:
        after = step.closes_after
        return self._chain(
            [
                *_boundaries(step.size, step.advance),
                *self._closed_filter,
                *([] if after is None else [f".filter({LATEST} < pl.col({END}) + {after})"]),
                self._aggregates(step, [*self._key_names, '"end_"']),
                f'.select(pl.col("end_").alias("ts"), {self._results})',
            ]
        )

    def _session(self, step: WindowStep) -> list[str]:
        pause = step.size
        gap = f'pl.col("ts").diff(){self._over_keys()} > {pause}'
        last = _column("last")
        later = f'    | (pl.col("session_") < pl.col("session_").max(){self._over_keys()}))'
        end_filter = ['.filter((pl.col("end_") <= watermark)', later] if self.closes else []
        return self._chain(
            [
                f'.with_columns(({gap}).fill_null(False).alias("starts_"))',
                f'.with_columns(pl.col("starts_").cum_sum(){self._over_keys()}.alias("session_"))',
                self._aggregates(
                    step,
                    [*self._key_names, '"session_"'],
                    ['pl.col("ts").first().alias("first"),', 'pl.col("ts").last().alias("last"),'],
                ),
                f'.with_columns(({last} - {last} % {pause} + {2 * pause}).alias("end_"))',
                "# A later session of the key ends a session, and so does the end of a window of the pause.",
                *end_filter,
                f'.select(pl.col("end_").alias("ts"), {self._results})',
            ]
        )

    def _count_window(self, step: WindowStep) -> list[str]:
        return self._chain(
            [
                f'.with_columns((pl.int_range(pl.len()){self._over_keys()} // {step.size}).alias("window_"))',
                self._aggregates(
                    step,
                    [*self._key_names, '"window_"'],
                    [f'pl.col("{name}").last(),' for name in ("ts", "order_")]
                    + ['pl.len().alias("rows_"),'],
                ),
                f'.filter(pl.col("rows_") == {step.size})',
                f'.select("order_", "ts", {self._results})',
                '.sort("order_")',
            ]
        )

    def _top(self, step: TopStep) -> list[str]:
        names = [step.by, *step.columns, "ts"]
        nan_last = step.by in nan_columns(self.declaration)
        first = [f"{_column(step.by)}.is_nan()"] if nan_last else []
        order = ", ".join([*first, *(f'"{name}"' for name in names)])
        descending = ", ".join([*("False" for _ in first), "True", *["False"] * (len(names) - 1)])
        place = f"(pl.int_range(pl.len()){self._over_keys(END)} + 1)"
        return self._chain(
            [
                *_boundaries(step.size, step.size),
                *self._closed_filter,
                f".sort({order}, descending=[{descending}])",
                f'.with_columns({place}.alias("rank_"))',
                f'.filter(pl.col("rank_") <= {step.most})',
                ".select(",
                '    pl.col("end_").alias("ts"),',
                *(f"    {key}," for key in self._key_names),
                '    pl.col("rank_").alias("rank"),',
                *(f'    "{name}",' for name in names[:-1]),
                '    pl.col("ts").alias("at"),',
                ")",
            ]
        )

    def _deduplicate(self, step: DeduplicateStep) -> list[str]:
        key = ", ".join(self._key_names)
        select = f'.select("order_", "ts", {self._results})'
        if step.within is None:
            return self._chain([f'.unique([{key}], keep="first", maintain_order=True)', select])
        rows, ts = f"rows_of_{self.name}", _column("ts")
        next_number = f'{ts}.search_sorted({ts} + {step.within}, side="right").over({key})'
        return [
            *self._chain(
                [
                    ".with_columns(",
                    f'    pl.int_range(pl.len()).over({key}).alias("number_"),',
                    f'    {next_number}.cast(pl.Int64).alias("next_"),',
                    f'    ({ts}.diff().over({key}) > {step.within}).fill_null(True).alias("first_"),',
                    ")",
                ],
                end=".collect()",
                name=rows,
            ),
            f'leaving = [{rows}.filter(pl.col("first_"))]',
            "while len(leaving[-1]):  # Find the next row that leaves, for each key.",
            f'    later = leaving[-1].select({key}, pl.col("next_").alias("number_"))',
            f'    later = later.join({rows}, on=[{key}, "number_"]).filter(~pl.col("first_"))',
            f"    leaving.append(later.select({rows}.columns))",
            f'{self.name} = pl.concat(leaving).lazy().sort("order_"){select}',
        ]

    def _alert(self, step: AlertStep) -> list[str]:
        condition = self._condition(step.condition)
        run = ", ".join([*self._key_names, '"run_"'])
        since = '(pl.col("ts") - pl.col("since_"))'
        return self._chain(
            [
                f'.with_columns(({condition}).alias("holds_"))',
                f'.with_columns((~pl.col("holds_")).cum_sum(){self._over_keys()}.alias("run_"))',
                '.filter(pl.col("holds_"))',
                f'.with_columns(pl.col("ts").first().over({run}).alias("since_"))',
                f".filter({since} >= {step.lasting})",
                f'.unique([{run}], keep="first", maintain_order=True)',
                '.with_columns(pl.col("since_").alias("since"))',
                f'.select("order_", "ts", {self._results})',
            ]
        )

    @property
    def _closed_filter(self) -> list[str]:
        """The call that selects windows whose end has passed."""
        return ['.filter(pl.col("end_") <= watermark)'] if self.closes else []

    def _join(self, step: JoinStep) -> list[str]:
        """Return the code of the frame of pairs, then of the frame with their times and values.

        If a left row has no partner, the columns of the right row get their missing values.
        """
        keys = [[f'"{side}.{key.name}"' for key in step.keys] for side in (LEFT, RIGHT)]
        on = [f"[{', '.join(names)}]" for names in keys]
        ts, right_ts = _column("left.ts"), _column("right.ts")
        if step.how == ASOF:
            lines = [
                "pairs = left.join_asof(",
                '    right, left_on="left.ts", right_on="right.ts", coalesce=False, check_sortedness=False,',
                f"    by_left={on[0]}, by_right={on[1]}, tolerance={step.before},",
                ")",
            ]
        else:
            lines = [
                f"pairs = left.join(right, left_on={on[0]}, right_on={on[1]}, coalesce=False).filter(",
                f"    {right_ts}.is_between({ts} - {step.before}, {ts} + {step.after})",
                ")",
            ]
        if step.how == OUTER:
            lines += [
                'alone = left.join(pairs, on="left_", how="anti")',
                'pairs = pl.concat([pairs, alone], how="diagonal")',
            ]
        calls = []
        if step.how != INNER:
            calls.append(f'.with_columns({right_ts}.is_not_null().alias("{MATCHED}"))')
        later = 'pl.max_horizontal("left.ts", "right.ts")'
        if step.how == OUTER:
            time = f'pl.when("{MATCHED}").then({later}).otherwise({ts} + {step.after})'
            end = f"{_column('ts')} - {_column('ts')} % {step.every} + {step.every}"
            calls += [f'.with_columns({time}.alias("ts"))', f".with_columns({end})"]
            if self.closes:
                calls.append(f'.filter(pl.col("{MATCHED}") | (pl.col("ts") <= watermark))')
        else:
            time = ts if step.how == ASOF else f"({later} + 1)"
            calls.append(f'.with_columns({time}.alias("ts"))')
        if step.how != INNER:
            missing = [_fill_missing(column, step) for column in step.reads()]
            calls += [".with_columns(", *filter(None, missing), ")"]
        calls += [
            ".select(",
            '    "ts",',
            *(f"    {value}" for value in self._values(step.outputs())),
            *([] if step.how == INNER else [f'    "{MATCHED}",']),
            ")",
        ]
        return [*lines, *self._chain(calls)]

    def _values(self, columns: Mapping[str, str]) -> list[str]:
        """Return expressions as columns of the output."""
        translated = {
            name: translate_expression(text, self.declaration, POLARS)
            for name, text in columns.items()
        }
        return [f'{_as_column(value)}.alias("{name}"),' for name, value in translated.items()]

    def _select(self, step: SelectStep) -> list[str]:
        values = self._values(step.columns)
        late_filter, window = [], step.too_late_for
        if window is not None:
            after = window.size - window.advance + (window.closes_after or 0)
            late_filter = [
                *_boundaries(window.advance, window.advance),
                f".filter({LATEST} >= pl.col({END}) + {after})",
            ]
        return self._chain(
            [
                *late_filter,
                ".select(",
                '    "order_",',
                '    "ts",',
                *(f"    {value}" for value in values),
                ")",
            ]
        )


def _has_end(part: Declaration) -> bool:
    """Return whether outputs of a step wait for a time that the input may not reach."""
    return not part.on_rows and not (isinstance(part.step, JoinStep) and part.step.how != OUTER)


def _fill_missing(column: Column, step: JoinStep) -> str | None:
    """Return the code that fills a column of the right row if the row is absent; None for a column of the left row."""
    side, _, name = column.name.partition(".")
    if side == LEFT:
        return None
    is_key = name in [key.name for key in step.keys]  # join_asof drops the keys of the right frame.
    value, missing = _column(f"{LEFT if is_key else side}.{name}"), _number(column.missing)
    return f'    pl.when("{MATCHED}").then({value}).otherwise({missing}).alias("{column.name}"),'


def _side(step: JoinStep, side: str) -> str:
    """Return the line that reads a table of a join."""
    names = "".join(f', "{column.name}"' for column in step.of_side(side))
    number = '.with_row_index("left_")' if side == LEFT and step.how == OUTER else ""
    kind = step.kinds.index(side)
    prefix = f'.select(pl.all().name.prefix("{side}."))'
    return f"{side} = tables.events({kind}{names}){prefix}{number}"


def _as_column(value: Translated) -> str:
    """Return an expression that has a value for each row, even if `value` is a constant."""
    if value.constant is None:
        return value.text
    if value.dtype == BOOL:
        return f'(pl.col("ts") * 0 == {int(not value.constant)})'
    zero = 'pl.col("ts") * 0' if value.dtype == INT else 'pl.col("ts") * 0.0'
    return f"({zero} + {value.text})"


def _boundaries(size: int, advance: int) -> list[str]:
    """Return the calls that add the right boundaries of each row's windows, as `end_`."""
    ts = _column("ts")
    begin = f"{ts} - {ts} % {advance}"
    if size == advance:
        return [f'.with_columns(({begin} + {size}).alias("end_"))']
    return [
        f'.with_columns(pl.int_ranges({begin}, {ts} - {size}, -{advance}).alias("end_"))',
        '.explode("end_")',
        f'.with_columns(pl.col("end_") + {size})',
    ]
