"""Makes the workload of a declaration: finds its columns, and builds its program and its description."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from streamlab.workloads.datasets.tables import Table
from streamlab.workloads.datasets.tables.lateness import KEEP
from streamlab.workloads.datasets.tables.table import LATE
from streamlab.workloads.datasets.times.duration import parse_duration
from streamlab.workloads.datasets.user_input import Source as AnySource
from streamlab.workloads.datasets.user_input import input_function
from streamlab.workloads.declarative import row_stages, windows
from streamlab.workloads.declarative.aggregates import code_of_aggregates
from streamlab.workloads.declarative.class_form import ClassForm, read_class, row_columns
from streamlab.workloads.declarative.declaration import (
    COUNT,
    EVENT,
    LATE_BY,
    SESSION,
    TIME,
    Aggregate,
    Column,
    Declaration,
    Step,
    WindowStep,
)
from streamlab.workloads.declarative.declared_step import DeclaredStep
from streamlab.workloads.declarative.expressions import (
    BOOL,
    FLOAT,
    HELPERS,
    INT,
    parse_expression,
)
from streamlab.workloads.declarative.input_columns import FIELD_NAMES, InputColumns, is_field_name
from streamlab.workloads.declarative.keys import Key
from streamlab.workloads.declarative.user_functions import read_function
from streamlab.workloads.model import (
    DGSProgram,
    ModelError,
    Window,
    Workload,
)
from streamlab.workloads.model.code.generated import define
from streamlab.workloads.model.operators.program import DROP, FLUSH, arrival_tick_ns
from streamlab.workloads.model.workload import OpenDeclaration
from streamlab.workloads.user_workload import name_of_file

Length = str | timedelta
KeyNames = str | Sequence[str]
Source = Table | Workload | Callable[..., Any]
Where = str | Callable[[Any], Any]
Decorator = Callable[[type], Workload]


READ_LATE = ("window", "select", "late_rows")
"""The forms that take a table with late="keep", or its windows."""

_FRAMES = 2
"""Frames from a public function to its caller: the frames of the function and of its decorator."""


def check_count(value: object, place: str, argument: str) -> None:
    """Check a number of rows; raises `ModelError`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1 << 20:
        raise ModelError(f"{place}: {argument} is {value!r}; give a whole number from 1 to 2^20")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The condition for rows that count.

    Attributes:
        function: the condition as a function of a row; None if all rows count.
        expression: the condition as an expression; None if all rows count, or it is a function of the user.
        reads: the columns that the condition reads.
    """

    function: Callable[[Any], bool] | None
    expression: str | None
    reads: tuple[Column, ...] = ()

    @property
    def is_user_function(self) -> bool:
        """Whether it is a function of the user, not an expression."""
        return self.function is not None and self.expression is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """Makes the workload of one declaration.

    Attributes:
        columns: the columns of the input.
        before: the workload that makes the input; None if the input is a table or function.
        file: the file of the declaration; None without a file.
        name: the name that the user gave the workload, if any.
        place: the place of the declaration, for messages.
        at_end: the effect of the input's end on open windows, see `Query.at_end`.
    """

    columns: InputColumns
    before: Workload | None
    file: str | None
    name: str | None
    place: str
    at_end: str

    @classmethod
    def for_caller(
        cls,
        source: Source,
        types: Mapping[str, type] | None,
        name: str | None,
        function_name: str,
        at_end: str = DROP,
    ) -> "Maker":
        """Return the maker for the public function `function_name`, which the user called `_FRAMES` frames above.

        Raises:
            ModelError: the input is not of a supported kind.
        """
        frame = sys._getframe(_FRAMES + 1)
        file = frame.f_globals.get("__file__")
        place = f"lab.{function_name} ({file or '<no file>'}:{frame.f_lineno})"
        if at_end not in (DROP, FLUSH):
            raise ModelError(f"{place}: at_end is {at_end!r}; give {DROP} or {FLUSH}")
        before = declaration = None
        table: AnySource
        if isinstance(source, OpenDeclaration):
            raise ModelError(f"{place}: input is not complete: {source.error}")
        if isinstance(source, Workload):
            before, declaration = source, source.declaration
            if not isinstance(declaration, Declaration) or isinstance(source.program, DGSProgram):
                kind = "a written program" if declaration is None else "an as-of join"
                raise ModelError(
                    f"{place}: input is workload {source.name}, which is {kind}; give a table, a function that "
                    "makes events, another join, or a workload declared by lab.window and the like"
                )
            if arrival_tick_ns(source.program) is not None:
                raise ModelError(
                    f"{place}: input is workload {source.name}, which has windows of arrival time; nothing reads "
                    "them, since only their totals are known"
                )
            table, label, unit = source.source, f"workload {source.name}", declaration.unit
        elif isinstance(source, Table):
            table = source if file is None else source.relative_to(Path(file).absolute().parent)
            label, unit = f"table {source.source.label}", source.unit
            if source.late == KEEP and function_name not in READ_LATE:
                raise ModelError(
                    f'{place}: input {label} has late="keep", and only lab.window and lab.select read late rows; '
                    'give late="drop"'
                )
            if source.late == KEEP:
                if source.columns.get(LATE_BY, LATE) != LATE:
                    raise ModelError(
                        f"{place}: columns of {label} has {LATE_BY}, which is the lateness of a row; give "
                        "another name"
                    )
                table = replace(table, columns={**source.columns, LATE_BY: LATE})
            if source.key is not None or source.kind is not None:
                raise ModelError(
                    f"{place}: input {label} has key= or kind=; a declared workload reads columns of rows: "
                    f'leave them out, and give lab.{function_name}(..., key="COLUMN")'
                )
        elif callable(source):
            table, unit = input_function(source), "ms"
            label = f"input {getattr(source, '__qualname__', repr(source))}"
        else:
            raise ModelError(
                f"{place}: input is {source if isinstance(source, str) else type(source).__name__!r}; give a "
                'table such as lab.csv("data.csv", ts="time") or lab.frame(data, ts="time"), a function that '
                "makes events, or a declared workload"
            )
        columns = InputColumns(
            label=label, source=table, unit=unit, types=types or {}, declaration=declaration
        )
        return cls(columns=columns, before=before, file=file, name=name, place=place, at_end=at_end)

    def length(self, length: Length, what: str) -> int:
        """Return a length of time in the unit of event time."""
        place = f"{self.place}: {what}"
        return parse_duration(length, self.columns.unit, place, shortest=1, error=ModelError)

    def decorator(self, make: Callable[[ClassForm], Workload]) -> Decorator:
        """Return a decorator that makes the workload of a class."""
        return OpenDeclaration(self.place, lambda cls: make(read_class(cls, self.columns)))

    def window(
        self,
        kind: str,
        size: int,
        advance: int,
        key_names: KeyNames | None,
        where: Where | None,
        result: Mapping[str, Aggregate] | None,
        class_form: ClassForm | None,
        allowed_lateness: Length | None = None,
        time: str = EVENT,
    ) -> Workload:
        """Return the workload of a window of any kind."""
        closes_after = self._closes_after(allowed_lateness)
        key, keep = self.find_key(key_names), self.read_filter(where)
        if class_form is None:
            if not isinstance(result, Mapping) or not result:
                raise ModelError(
                    f"{self.place}: result is {result!r:.60}; give aggregates by output column, such as "
                    '{"rides": lab.count()}'
                )
            code = code_of_aggregates(result, self.columns.finder(self.place), self.place)
            result = code.result
            reads, results = tuple(code.reads), tuple(code.output)
        else:
            reads, results = class_form.reads, class_form.output
            if class_form.where is not None and keep.function is not None:
                raise ModelError(
                    f"{self.place}: where is an argument and a method; give one of them"
                )
            if class_form.where is not None:
                keep = Filter(function=class_form.where, expression=None)
        edges = [Column(name=n, dtype=INT, is_time=True) for n in (windows.FIRST, windows.LAST)]
        output = self.output_columns(key, edges if kind == SESSION else [], results)
        step = WindowStep(
            kind=kind,
            size=size,
            advance=advance,
            result=result,
            closes_after=closes_after,
            time=time,
        )
        if closes_after is not None:
            reads = (*reads, self.columns.find(LATE_BY, self.place))
        user_functions = class_form is not None or (
            keep.function is not None and keep.expression is None
        )
        declare = self.declare(
            step,
            key,
            keep,
            (*reads, *keep.reads),
            output,
            user_functions,
            None if class_form is None else class_form.name,
        )
        body: Any = class_form if class_form is not None else code
        if kind == COUNT:
            return declare.pipeline(
                row_stages.count_window(
                    name=declare.name,
                    body=body,
                    rows=size,
                    key=key,
                    where=keep.function,
                    output=output,
                )
            )
        functions = (
            windows.body_of_aggregates(code)
            if class_form is None
            else windows.body_of_class(class_form, key)
        )
        window = (
            partial(windows.session, pause=size)
            if kind == SESSION
            else partial(
                windows.time_window,
                window=Window(advance=advance, size=size),
                closes_after=closes_after,
            )
        )
        return declare.query(
            window(
                name=declare.name,
                source=declare.source,
                body=functions,
                key=key,
                where=keep.function,
                output=output,
            )
        )

    def _closes_after(self, allowed_lateness: Length | None) -> int | None:
        """Return `WindowStep.closes_after` for windows of the input."""
        table = self.columns.source
        keeps = self.before is None and isinstance(table, Table) and table.late == KEEP
        if not keeps and allowed_lateness is None:
            return None
        if not keeps:
            raise ModelError(
                f"{self.place}: allowed_lateness is {allowed_lateness!r}, but {self.columns.label} has no late rows; "
                'give a table with them, such as lab.csv(..., out_of_order="5 s", late="keep")'
            )
        assert isinstance(table, Table), "it keeps late rows"
        place = f"{self.place}: allowed_lateness"
        allowed = 0 if allowed_lateness is None else allowed_lateness
        allowed_units = parse_duration(allowed, self.columns.unit, place, error=ModelError)
        return (table.max_lateness() or 0) + allowed_units

    def find_key(self, names: KeyNames | None) -> Key:
        """Return the key with columns of these names; raises `ModelError` for floats."""
        listed = () if names is None else (names,) if isinstance(names, str) else names
        is_list = isinstance(listed, Sequence) and all(isinstance(name, str) for name in listed)
        if not is_list or (names is not None and not listed):
            raise ModelError(
                f"{self.place}: key is {names!r:.60}; give the name of a column, or a list of names"
            )
        columns = []
        for name in listed:
            column = self.columns.find(name, f"{self.place}: key")
            if column.dtype == FLOAT:
                raise ModelError(
                    f"{self.place}: key is {name}, a column of floats; a key is a whole number or a text; "
                    f"declare its type (types={{{name!r}: int}} or str)"
                )
            columns.append(column)
        return Key(columns=tuple(columns))

    def read_filter(self, where: Where | None) -> Filter:
        """Return the condition on rows, as an expression or a function of a row."""
        if where is None:
            return Filter(function=None, expression=None)
        place = f"{self.place}: where"
        if isinstance(where, str):
            condition = parse_expression(where, self.columns.finder(place), place)
            if condition.dtype != BOOL:
                raise ModelError(f"{place} is {where!r}, a number; compare it, such as {where} > 0")
            function = define("where", "t", [f"return {condition.code}"], HELPERS)
            return Filter(function=function, expression=condition.text, reads=condition.columns)
        user = read_function(where, "where", 1)
        reads = row_columns(user, user.parameters[0], self.columns)
        return Filter(function=user.function, expression=None, reads=tuple(reads))

    def check_names(self, names: object) -> Sequence[str]:
        """Check names of columns, and return them."""
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise ModelError(f"{self.place}: columns is {names!r:.60}; give a list of columns")
        return names

    def other_columns(self, names: Sequence[str] | None, key: Key) -> list[Column]:
        """Return the columns with these names that are not in the key; None means all columns."""
        column_names = self.columns.names() if names is None else self.check_names(names)
        place = f"{self.place}: columns"
        return [self.columns.find(n, place) for n in column_names if n not in key.names]

    def output_columns(
        self, key: Key, first: Sequence[Column], then: Sequence[Column]
    ) -> tuple[Column, ...]:
        """Return the columns of the output: time, key, `first` and `then`; check that their names differ."""
        output = (TIME, *key.columns, *first, *then)
        names = [column.name for column in output]
        for name in names:
            if not is_field_name(name):
                raise ModelError(
                    f"{self.place}: the output has a column {name!r}; {FIELD_NAMES}: rename it"
                )
            if names.count(name) > 1:
                others = [c.name for c in (TIME, *key.columns, *first)]
                raise ModelError(
                    f"{self.place}: the output has a column {name!r}, which is there twice (besides the "
                    f"result it has {', '.join(others)}); rename it"
                )
        return output

    def declare(
        self,
        step: Step,
        key: Key,
        keep: Filter,
        reads: Sequence[Column],
        output: tuple[Column, ...],
        user_functions: bool,
        class_name: str | None = None,
    ) -> DeclaredStep:
        """Return a declared step: `step` with its name, its columns and the previous steps."""
        read = (*key.columns, *reads, *self.columns.not_missing(self.place))
        unique = {column.name: column for column in read}
        name = self.name or (None if class_name is None else _snake_case(class_name))
        name = name or name_of_file(self.file) or type(step).__name__
        before = self.columns.declaration
        declaration = Declaration(
            name=name,
            step=step,
            keys=key.names,
            where=keep.expression,
            reads=tuple(unique.values()),
            output=output,
            user_functions=user_functions,
            unit=self.columns.unit,
            flushes=self.at_end == FLUSH or (before is not None and before.flushes),
            before=before,
        )
        return DeclaredStep(
            columns=self.columns,
            before=self.before,
            place=self.place,
            at_end=self.at_end,
            declaration=declaration,
        )


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
