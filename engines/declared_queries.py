"""Decides which declared workloads have a query, and translates their expressions to an engine's language.

A declaration (`Workload.declaration`) without functions of the user defines everything that a workload computes.
An engine of tables generates a query from it: the engine's folder translates the steps, this module the expressions.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamlab.engines.conditions import MEMORY, WHOLE, Conditions
from streamlab.engines.protocol import Variant
from streamlab.workloads.declarative.declaration import (
    ASOF,
    INNER,
    LEFT,
    MATCHED,
    OUTER,
    RIGHT,
    SLIDING,
    Aggregate,
    Column,
    Declaration,
    DeduplicateStep,
    Function,
    JoinStep,
    TopStep,
    WindowStep,
)
from streamlab.workloads.declarative.expressions import (
    BOOL,
    FLOAT,
    INT,
    TS,
    constant_of,
    may_be_nan,
    parse_paths,
)
from streamlab.workloads.model import DGSProgram, Pipeline, Query, Workload

GENERATED = "generated"
"""The variant that runs a query generated from the declaration of a workload."""

INTERNAL = frozenset({"src", "row", "tag"})
"""Columns that every table of an input has. Queries add further columns, whose names end with `_`."""

_ARITHMETIC: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
_COMPARISON: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def generated_variant(language: str, *, label: str) -> Variant:
    """Return the variant that generates a query from a declared workload.

    Args:
        language: language of the query.
        label: name of the engine's library.
    """
    return Variant(
        name=GENERATED,
        summary=f"{language} generated from a declared workload (lab.window, lab.join, ...); tables in memory",
        label=f"{label} (generated)",
        models=(Query, Pipeline, DGSProgram),
        generates=untranslatable,
        conditions=Conditions(unit=WHOLE, origin=MEMORY),
    )


def untranslatable(workload: Workload) -> str | None:
    """Return why a workload has no generated query, worded to follow the variant's name; None if it has one."""
    declaration = workload.declaration
    if not isinstance(declaration, Declaration):
        return (
            f"generates queries for declared workloads only, and {workload.name} is not one; "
            "declare it (lab.window, lab.session, lab.top, ...), or run it on an engine for any program"
        )
    for part in declaration.steps():
        if part.user_functions:
            return (
                f"cannot translate the Python functions of {part.name}; use named aggregates "
                '(result={"rides": lab.count()}) and texts (where="duration > 60"), or run it on an '
                "engine for any program: reference, multicore, spark"
            )
        remedy = "rename it in the input: columns={'place': '%s'}"
        columns = [*part.reads, *part.output]
        if isinstance(part.step, JoinStep):
            remedy = "rename the table's column, or select it by another name than %s"
            columns += [*part.step.columns[LEFT], *part.step.columns[RIGHT]]
        names = {column.name for column in columns}
        for name in sorted(names):
            similar_names = [other for other in names if other.lower() == name.lower()]
            if name.lower() in INTERNAL or name.endswith("_") or len(similar_names) > 1:
                return (
                    f"cannot translate {part.name}: the query uses the name of its column {name} itself, or "
                    f"another column's name differs only in case; {remedy % name}"
                )
        if isinstance(part.step, WindowStep):
            for name, aggregate in (part.step.result or {}).items():
                if aggregate.exact and is_float(aggregate, part):
                    return (
                        f"cannot translate {part.name}: no query adds floats exactly ({name}); drop "
                        "exact=True: the sum is then added in the order of the rows"
                    )
    return None


def generated_plan(
    declaration: Declaration, slow_parts: Callable[[Declaration], Iterable[str]] | None = None
) -> str:
    """Return a note that a query is generated, with the steps that a hand-written query may do faster.

    `slow_parts` yields the slow parts of a step, worded to follow the step's name; None stands for the slow parts of
    queries on tables in memory.
    """
    find_slow_parts = slow_parts or _slow_parts
    slow_steps = [
        f"{step.name} {part}" for step in declaration.steps() for part in find_slow_parts(step)
    ]
    slow = "; a query written by hand may be faster: " + ", ".join(slow_steps) if slow_steps else ""
    return f"the query is generated from the declaration{slow}"


def _slow_parts(part: Declaration) -> Iterator[str]:
    step = part.step
    if isinstance(step, JoinStep) and step.how != ASOF:
        yield "compares all rows of equal columns, however far apart in time"
    if isinstance(step, DeduplicateStep) and step.within is not None:
        yield "finds the rows of a key that leave one after the other, by a join for each"
    if not isinstance(step, WindowStep):
        return
    if step.kind == SLIDING:
        yield f"copies each row into its {-(-step.size // step.advance)} windows"
    aggregates = (step.result or {}).values()
    if adds_in_order(part) and any(
        aggregate.function in (Function.SUM, Function.MEAN) and is_float(aggregate, part)
        for aggregate in aggregates
    ):
        yield "adds floats one by one, in the order of the rows"
    if any(aggregate.function is Function.PERCENTILE for aggregate in aggregates):
        yield "sorts the values of each window for a percentile"


def is_float(aggregate: Aggregate, part: Declaration) -> bool:
    """Return whether an aggregate of a step takes floats."""
    value = value_of_aggregate(aggregate, part, _ANY)
    return value is not None and value.dtype == FLOAT


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Describes how a language writes the parts of an expression.

    Attributes:
        column: returns the text of a column.
        number: returns the text of a constant.
        integer: format that converts a Boolean to 0 or 1.
        dividend: format of a whole number that is divided.
        divisor: format of a constant that divides.
        both, either: the logical operators and, or.
        negation: format of a negated Boolean.
        equal, unequal: the operators that compare two numbers.
        is_nan: format that tests whether a float is NaN. In these languages NaN equals itself and is above all numbers.
    """

    column: Callable[[str], str]
    number: Callable[[int | float | bool], str]
    integer: str
    dividend: str = "{}"
    divisor: str = "{}"
    both: str
    either: str
    negation: str
    equal: str
    unequal: str
    is_nan: str


_ANY = Dialect(
    column=str,
    number=repr,
    integer="{}",
    both="and",
    either="or",
    negation="not {}",
    equal="==",
    unequal="!=",
    is_nan="isnan({})",
)
"""A dialect that serves only to find the types of expressions; its texts are not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """An expression in another language.

    Attributes:
        text: the expression in that language.
        dtype: int64, float64 or bool.
        constant: the expression's value; None if it reads a column.
        may_be_nan: whether the value can be NaN.
    """

    text: str
    dtype: np.dtype[Any]
    constant: int | float | bool | None = None
    may_be_nan: bool = False

    @property
    def bare(self) -> str:
        """The text without parentheses around the whole."""
        if not self.text.startswith("("):
            return self.text
        depth = 0
        for index, sign in enumerate(self.text):
            depth += (sign == "(") - (sign == ")")
            if depth == 0:
                return self.text[1:-1] if index == len(self.text) - 1 else self.text
        return self.text


def order_of_windows(declaration: Declaration) -> tuple[str, ...]:
    """Return the columns by which a step on time windows sorts its outputs."""
    return ("ts", *declaration.keys, *(("rank",) if isinstance(declaration.step, TopStep) else ()))


def adds_in_order(declaration: Declaration) -> bool:
    """Return whether the model fixes the order in which a step adds floats."""
    return declaration.before is None or declaration.on_rows


def columns_before(declaration: Declaration) -> tuple[Column, ...]:
    """Return the columns that a step can read, without `ts`; a join also reads the times of both rows."""
    if isinstance(declaration.step, JoinStep):
        return declaration.step.reads()
    before = declaration.before
    return declaration.reads if before is None else before.output[1:]


def select_pairs(
    step: JoinStep, dialect: Dialect, tables: str, bounds: str, extra_columns: Sequence[str] = ()
) -> str:
    """Return the SQL SELECT of a join's pairs of rows.

    The SELECT has the columns that the output needs (`left.price`) and the time `at_`. Outer and as-of joins also have
    `matched`. An inner or as-of join emits an output at `at_`, an outer join at the end of the step that contains
    `at_`.

    Args:
        step: the join.
        dialect: the engine's dialect of SQL.
        tables: the FROM clause, in which the rows are `l` and `r`.
        bounds: the condition on the times of two rows; empty for none.
        extra_columns: further columns.
    """
    matched = "r.ts IS NOT NULL"
    if step.how == ASOF and step.before is not None:
        matched = f"l.ts - r.ts <= {step.before}"
    columns = []
    for column in step.reads():
        side, _, name = column.name.partition(".")
        value = f"{side[0]}.{dialect.column(name)}"
        if side == RIGHT and step.how != INNER:
            value = f"if({matched}, {value}, {dialect.number(column.missing)})"
        columns.append(f"{value} AS {dialect.column(column.name)}")
    later = "greatest(l.ts, r.ts)"
    unmatched = f"l.ts + {step.after}"
    times = {INNER: f"{later} + 1", OUTER: f"if({matched}, {later}, {unmatched})", ASOF: "l.ts"}
    columns.append(f"{times[step.how]} AS at_")
    if step.how != INNER:
        columns.append(f"coalesce({matched}, FALSE) AS {MATCHED}")
    names = [dialect.column(key.name) for key in step.keys]
    conditions = [*(f"l.{name} = r.{name}" for name in names), bounds]
    select = ",\n    ".join([*columns, *extra_columns])
    return f"SELECT {select}\nFROM {tables}\nON {' AND '.join(filter(None, conditions))}"


def translate_expression(expression: str, part: Declaration, dialect: Dialect) -> Translated:
    """Translate a checked expression (`Expression.text`) over the rows that a step reads."""
    tree = parse_paths(expression)
    columns = {column.name: column for column in columns_before(part)}
    with_nan = nan_columns(part)
    translated = _Translator(columns, with_nan, dialect).translate(tree)
    is_nan_possible = translated.dtype == FLOAT and may_be_nan(tree, with_nan)
    return replace(translated, may_be_nan=is_nan_possible)


def nan_columns(part: Declaration) -> frozenset[str]:
    """Return the columns that a step reads and that can be NaN; columns of inputs cannot."""
    before = () if part.before is None else part.before.output
    return frozenset(column.name for column in before if column.dtype.kind == "f")


class _Translator:
    """Translates the syntax tree of an expression, node by node."""

    def __init__(
        self, columns: Mapping[str, Column], with_nan: frozenset[str], dialect: Dialect
    ) -> None:
        self._columns, self._with_nan, self._dialect = columns, with_nan, dialect

    def translate(self, node: ast.expr) -> Translated:
        """Translate a node. A node without columns becomes its value, so that constants keep Python's types."""
        dialect = self._dialect
        constant = constant_of(node)
        if constant is not None:
            return _constant(constant, dialect)
        if isinstance(node, ast.Name):
            return Translated(text=dialect.column(node.id), dtype=self._type_of(node.id))
        if isinstance(node, ast.BinOp):
            left, right = self._number(node.left), self._number(node.right)
            sign = _ARITHMETIC[type(node.op)]
            is_float = isinstance(node.op, ast.Div) or FLOAT in (left.dtype, right.dtype)
            divides = right.constant is not None and sign == "/"
            divisor = dialect.divisor.format(right.text) if divides else right.text
            dividend = left.text
            if sign == "/" and left.dtype != FLOAT:
                dividend = dialect.dividend.format(left.text)
            text = f"({dividend} {sign} {divisor})"
            return Translated(text=text, dtype=FLOAT if is_float else INT)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand = self._number(node.operand)
            return Translated(text=f"(-{operand.text})", dtype=operand.dtype)
        if isinstance(node, ast.UnaryOp):
            return self._negation(self.translate(node.operand))
        if isinstance(node, ast.BoolOp):
            joint = dialect.both if isinstance(node.op, ast.And) else dialect.either
            parts = [self.translate(part).text for part in node.values]
            return Translated(text="(" + f" {joint} ".join(parts) + ")", dtype=BOOL)
        assert isinstance(node, ast.Compare), "parse_expression accepts nothing else"
        sides = [node.left, *node.comparators]
        pairs = zip(sides, sides[1:], node.ops, strict=False)
        parts = [self._comparison(left, right, op) for left, right, op in pairs]
        text = parts[0] if len(parts) == 1 else "(" + f" {dialect.both} ".join(parts) + ")"
        return Translated(text=text, dtype=BOOL)

    def _type_of(self, name: str) -> np.dtype[Any]:
        dtype = INT if name == TS else self._columns[name].dtype
        return BOOL if dtype == BOOL else FLOAT if dtype.kind == "f" else INT

    def _number(self, node: ast.expr) -> Translated:
        return as_number(self.translate(node), self._dialect)

    def _negation(self, operand: Translated) -> Translated:
        dialect = self._dialect
        if operand.dtype == BOOL:
            return Translated(text=dialect.negation.format(operand.text), dtype=BOOL)
        return Translated(text=f"({operand.text} {dialect.equal} {dialect.number(0)})", dtype=BOOL)

    def _comparison(self, left: ast.expr, right: ast.expr, op: ast.cmpop) -> str:
        sign = _COMPARISON[type(op)]
        dialect = self._dialect
        text = {"==": dialect.equal, "!=": dialect.unequal}.get(sign, sign)
        values = self._number(left), self._number(right)
        compared = f"({values[0].text} {text} {values[1].text})"
        nan = [
            value.dtype == FLOAT and may_be_nan(node, self._with_nan)
            for value, node in zip(values, (left, right), strict=True)
        ]
        # In Python, NaN differs from everything. In these languages, NaN equals NaN and is above all numbers.
        greater = sign in ("<", "<=")
        if not (all(nan) if sign in ("==", "!=") else nan[greater]):
            return compared
        is_nan = dialect.is_nan.format(values[greater].text)
        if sign == "!=":
            return f"({compared} {dialect.either} {is_nan})"
        return f"({compared} {dialect.both} {dialect.negation.format(is_nan)})"


def _constant(value: int | float | bool, dialect: Dialect) -> Translated:
    kinds = {bool: BOOL, int: INT, float: FLOAT}
    return Translated(text=dialect.number(value), dtype=kinds[type(value)], constant=value)


def as_number(value: Translated, dialect: Dialect) -> Translated:
    """Return a value as a number: a Boolean as 0 or 1."""
    if value.dtype != BOOL:
        return value
    if value.constant is not None:
        return _constant(int(value.constant), dialect)
    return Translated(text=dialect.integer.format(value.text), dtype=INT)


def value_of_aggregate(
    aggregate: Aggregate, part: Declaration, dialect: Dialect
) -> Translated | None:
    """Return the value that an aggregate takes from each row; None for `count`, which takes no value."""
    if aggregate.function is Function.COUNT:
        return None
    if (
        aggregate.function is Function.DISTINCT
    ):  # DISTINCT also counts ids of texts, which expressions cannot read.
        return Translated(text=dialect.column(aggregate.of), dtype=INT)
    return as_number(translate_expression(aggregate.of, part, dialect), dialect)
