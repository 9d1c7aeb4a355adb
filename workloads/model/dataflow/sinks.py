"""Merges the outputs of several sinks into one answer, each row with the number of its sink."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from streamlab.workloads.model.code.generated import define
from streamlab.workloads.model.dataflow.operators import Function, OpStateless
from streamlab.workloads.model.dataflow.types import TraceType, U
from streamlab.workloads.model.errors import ProgramError

SINK = "sink"
"""Column with the number of a row's sink, from 0 in the order of `Flow.gives`."""
_ZEROS = {"b": "False", "f": "0.0"}


def answer_type(where: str, sinks: Sequence[TraceType]) -> TraceType:
    """Return the type of the answer: `ts`, `sink`, then the keys and fields of all sinks.

    Pairs of different sinks are unordered, so the answer has the unordered type U. `where` is for messages.

    Raises:
        ProgramError: Two sinks have columns of one name and different types, or a column is named `sink`.
    """
    columns: dict[str, np.dtype[Any]] = {}
    for link in sinks:
        for name in (link.row.names or ())[1:]:
            if name == SINK:
                raise ProgramError(
                    f"{where}: one of its sinks has a column {SINK}, which numbers the sinks; rename it"
                )
            if columns.setdefault(name, link.row[name]) != link.row[name]:
                raise ProgramError(
                    f"{where}: column {name} is {columns[name]} in one sink and {link.row[name]} in "
                    "another; rename one of them"
                )
    fields = [("ts", np.dtype(np.int64)), (SINK, np.dtype(np.int16)), *columns.items()]
    return U(None, np.dtype(fields))


def to_answer(name: str, number: int, link: TraceType, answer: TraceType) -> OpStateless:
    """Return the operator that makes rows of the answer from the output of a sink.

    Columns that the sink lacks are zero.
    """
    values = {field: f"value.{field}" for field in link.fields} | {SINK: str(number)}
    if link.key is not None:
        values[link.key] = "key"
    zeros = {field: _ZEROS.get(answer.value[field].kind, "0") for field in answer.fields}
    return OpStateless(
        name=name,
        reads=U(link.key, link.value),
        gives=answer,
        on_item=_define_emit((zeros | values)[field] for field in answer.fields),
    )


def merge(answer: TraceType) -> OpStateless:
    """Return the operator that reads the rows of all sinks and passes them on."""
    on_item = _define_emit(f"value.{field}" for field in answer.fields)
    return OpStateless(name="sinks", reads=answer, gives=answer, on_item=on_item)


def _define_emit(values: Iterable[str]) -> Function:
    return define("on_item", "key, value, out", [f"out.emit({', '.join(values)})"], {})
