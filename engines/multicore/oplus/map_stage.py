"""Splits an operator into a map stage M and an aggregate A.

For each key of a tuple, M emits a tuple with this key (the f_SK of A) and the fields that f_U reads.

Source: STRETCH, Corollary 1; appendix C, Algorithm 7 and Operator 8; appendix D, Algorithms 11 and
13 and Operator 12.
"""

from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.oplus.kernels import TupleLayout
from streamlab.engines.multicore.oplus.refusal import check_single
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Input, InputType, Operator, Query
from streamlab.workloads.model.code.fingerprint import names_of

KEY = "mapped_key"
"""The field of a mapped tuple with its key."""


def _key_of(t: Any, out: Any) -> None:
    out.add(t.mapped_key)


def mapped_aggregate(operator: Operator) -> Operator:
    """Return the aggregate A, which reads mapped tuples with one key each."""
    carried = _fields_of_update(operator)
    parts = tuple(
        InputType(
            name=part.name,
            fields=np.dtype(
                [(KEY, np.int64)]
                + [(name, part.fields[name]) for name in part.fields.names or () if name in carried]
            ),
        )
        for part in operator.inputs
    )
    return replace(operator, inputs=parts, keys=_key_of, bag=False)


def mapped_layout(aggregate: Operator, layout: TupleLayout) -> TupleLayout:
    """Return the layout of a stream's mapped tuples, from the layout of its tuples."""
    available = (KEY, *layout.fields)
    names = tuple(name for name in aggregate.fields.names or () if name in available)
    return TupleLayout(input=layout.input, fields=names, lists=())


def carried_columns(
    operator: Operator, aggregate: Operator, layout: TupleLayout
) -> list[tuple[int, int]]:
    """Return (index of the column, bytes) of each field of a mapped tuple after the key.

    Column 0 is `ts`. Fields that the stream lacks (`layout`) have 0 bytes.
    """
    indices = {name: index for index, name in enumerate(operator.fields.names or (), 1)}
    return [
        (indices[name], operator.fields[name].itemsize if name in layout.fields else 0)
        for name in (aggregate.fields.names or ())[1:]
    ]


def check_query(query: Query) -> str | None:
    """Return why a query cannot run behind a map stage, or None."""
    if (reason := check_single(query, "sn-map")) is not None:
        return reason
    (operator,) = query.operators
    if operator.join is not None:
        return (
            f"operator {operator.name} is a join, but variant sn-map runs no joins; use variant "
            'vsn, or sn with join_form = "operator10"'
        )
    if KEY in (operator.fields.names or ()):
        return (
            f"operator {operator.name} has a field {KEY}, but sn-map reserves this name; rename it"
        )
    if read := _fields_of_update(operator) & set(operator.lists):
        return (
            f"f_U of operator {operator.name} reads the lists {sorted(read)}, but mapped tuples have "
            "only scalar fields; copy the needed values into fields and read them as t.field, or use "
            "variant vsn or sn"
        )
    return None


def check_maps(maps: int, data: Input | Dataset) -> str | None:
    """Return why the number of map instances is invalid for an input, or None."""
    max_maps = _core.MAX_STREAMS // max(1, len(data.streams))
    if 1 <= maps <= max_maps:
        return None
    streams = f" with {len(data.streams)} streams" if len(data.streams) > 1 else ""
    return f"map_instances must be between 1 and {max_maps}{streams}, got {maps}"


def _fields_of_update(operator: Operator) -> set[str]:
    """Return the fields that f_U may read: those whose names f_U, or a function that it calls, uses as attributes.

    Returns all fields if tuples are stored.
    """
    fields = {*(operator.fields.names or ()), *operator.lists}
    if operator.stores or operator.update is None:
        return fields
    return fields & _names_in(operator.update, set())


def _names_in(value: object, visited: set[int]) -> set[str]:
    """Return the names of attributes and globals in a function, and in the functions that it reads."""
    function = getattr(value, "py_func", value)
    if not isinstance(function, FunctionType) or id(function) in visited:
        return set()
    visited.add(id(function))
    names = names_of(function.__code__)
    values = [function.__globals__.get(name) for name in names]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    return names.union(*(_names_in(read, visited) for read in values))
