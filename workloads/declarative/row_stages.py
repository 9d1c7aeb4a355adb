"""Builds stages of ordered pipelines from declarations about rows. An output has the time of its row.

In a chain with windows of time, a stage is an operator O+ that keeps the time of its tuples (`operator_of`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from streamlab.workloads.declarative.aggregates import AggregateCode
from streamlab.workloads.declarative.class_form import ClassForm
from streamlab.workloads.declarative.declaration import Column
from streamlab.workloads.declarative.expressions import HELPERS
from streamlab.workloads.declarative.keys import Key
from streamlab.workloads.declarative.state_functions import clear
from streamlab.workloads.declarative.windows import fields_of
from streamlab.workloads.model import InputType, Operator, Pipeline, Window
from streamlab.workloads.model.code.generated import define
from streamlab.workloads.model.operators.program import SINGLE, keep
from streamlab.workloads.model.pipeline.program import Stage, partitioned, stateful, stateless

_SEEN = "seen_"
"""Field of a state: the number of rows in the window, or whether a row of the key was output."""


def _stage(
    name: str,
    key: Key,
    state: Sequence[tuple[Any, ...]],
    lines: Sequence[str],
    names: Mapping[str, object],
    where: Callable[[Any], bool] | None,
    output: Sequence[Column],
) -> Stage:
    """Return a stage with a state for each key, whose body `lines` uses the state `s` and the row `t`."""
    names = dict(names)
    if where is not None:
        names["where"] = where
        lines = ["if where(t):", *(f"    {line}" for line in lines)]
    apply = define("apply", "s, t, out", lines, names)
    dtype, output_dtype = np.dtype(list(state)), fields_of(output)
    if not key.columns:
        return stateful(name=name, output=output_dtype, state=dtype, apply=apply)
    return partitioned(name=name, output=output_dtype, key=key.function(), state=dtype, apply=apply)


def count_window(
    *,
    name: str,
    body: ClassForm | AggregateCode,
    rows: int,
    key: Key,
    where: Callable[[Any], bool] | None,
    output: Sequence[Column],
) -> Stage:
    """Return the stage of windows of `rows` rows of a key; an output has the time of its last row."""
    state = [*body.state, (_SEEN, np.int64)]
    dtype = np.dtype(state)
    lines = ["add(s, t)", f"s.{_SEEN} += 1", f"if s.{_SEEN} == {rows}:", "    give(s, t, out)"]
    for field in dtype.names or ():
        is_array = dtype[field].subdtype is not None
        lines.append(f"    clear(s.{field})" if is_array else f"    s.{field} = 0")
    names: dict[str, object] = {"clear": clear}
    if isinstance(body, ClassForm):
        give = body.make_result(
            key.row_expressions("row_"), key=key.row_expressions("row_"), parameters=("row_",)
        )
        names |= {"add": body.add, "give": give}
    else:
        names["add"] = define("add", "s, t", body.adding, body.names)
        emit = f"out.emit({', '.join([*key.row_expressions('t'), *body.values])})"
        names["give"] = define("result", "s, t, out", [emit], body.names)
    return _stage(name, key, state, lines, names, where, output)


def deduplicate(
    *,
    name: str,
    within: int | None,
    key: Key,
    columns: Sequence[Column],
    where: Callable[[Any], bool] | None,
    output: Sequence[Column],
) -> Stage:
    """Return the stage that drops a row if a row of its key was output at most `within` before (None: ever before)."""
    values = [*key.row_expressions("t"), *(f"t.{column.name}" for column in columns)]
    or_expired = "" if within is None else f" or t.ts - s.last_ > {within}"
    lines = [
        f"if s.{_SEEN} == 0{or_expired}:",
        f"    s.{_SEEN} = 1",
        "    s.last_ = t.ts",
        f"    out.emit({', '.join(values)})",
    ]
    state = [(_SEEN, np.int8), ("last_", np.int64)]
    return _stage(name, key, state, lines, {}, where, output)


def alert(
    *,
    name: str,
    condition: str,
    lasting: int,
    key: Key,
    columns: Sequence[Column],
    output: Sequence[Column],
) -> Stage:
    """Return the stage that outputs a row when `condition` has held for `lasting`, once each time it becomes true."""
    values = [*key.row_expressions("t"), "s.since_", *(f"t.{column.name}" for column in columns)]
    lines = [
        f"if not ({condition}):",
        "    s.phase_ = 0",
        "else:",
        "    if s.phase_ == 0:",
        "        s.phase_ = 1",
        "        s.since_ = t.ts",
        f"    if s.phase_ == 1 and t.ts - s.since_ >= {lasting}:",
        "        s.phase_ = 2",
        f"        out.emit({', '.join(values)})",
    ]
    state = [("phase_", np.int8), ("since_", np.int64)]
    return _stage(name, key, state, lines, HELPERS, None, output)


def flat_map(
    *,
    name: str,
    give: Callable[[Any, Any], None],
    most: int,
    where: Callable[[Any], bool] | None,
    output: Sequence[Column],
) -> Stage:
    """Return the stage that calls `give(t, out)` for each row that satisfies `where`, to emit at most `most` rows."""
    if where is not None:
        lines = ["if where(t):", "    give(t, out)"]
        give = define("apply", "t, out", lines, {"where": where, "give": give})
    return stateless(name=name, output=fields_of(output), apply=give, max_outputs=most)


def select(
    *,
    name: str,
    values: Sequence[str],
    where: Callable[[Any], bool] | None,
    output: Sequence[Column],
) -> Stage:
    """Return the stage that outputs the rows that satisfy `where`; `values` are the expressions of the columns."""
    emit = f"out.emit({', '.join(values)})"
    lines = [emit] if where is None else ["if where(t):", f"    {emit}"]
    names = {**HELPERS, **({} if where is None else {"where": where})}
    return stateless(
        name=name, output=fields_of(output), apply=define("apply", "t, out", lines, names)
    )


def operator_of(stage: Stage, source: InputType) -> Operator:
    """Return a stage as an operator of a query. Rows of equal time keep their order for each key only."""
    names: dict[str, object] = {"apply": stage.apply}
    key, arguments = "0", "w[0], t, out"
    if stage.state is None:
        # All rows of one time have the same of 1,024 keys, so one instance keeps their order.
        key, arguments = "t.ts & 1023", "t, out"
    elif stage.key is not None:
        key, names["key"] = "key(t)", stage.key
    return Operator(
        name=stage.name,
        inputs=(source,),
        window=Window(advance=1, size=1, type=SINGLE),
        output=stage.output,
        state=np.dtype([]) if stage.state is None else stage.state,
        keys=define("keys", "t, out", [f"out.add({key})"], names),
        update=define("update", "w, t, out", [f"apply({arguments})"], names),
        slide=keep,
        emits_on_update=True,
        keeps_time=True,
        max_outputs=stage.max_outputs,
    )


def operators_of(pipeline: Pipeline) -> tuple[Operator, ...]:
    """Return the stages of a pipeline as operators of a query."""
    return tuple(
        operator_of(stage, InputType(name=pipeline.record, fields=pipeline.input_of(index)))
        for index, stage in enumerate(pipeline.stages)
    )
