"""Splits an operator into a map stage M and an aggregate A.

For each key of a tuple, M emits a tuple with that key (the f_SK of A) and the fields that f_U reads.

Source: STRETCH, Corollary 1; appendix C, Algorithm 7 and Operator 8; appendix D, Algorithms 11 and
13 and Operator 12.
"""

import dis
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.oplus.kernels import TupleLayout
from streamlab.engines.multicore.oplus.refusal import check_single
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Input, InputType, Operator, Query

KEY = "mapped_key"
"""Field of a mapped tuple that holds its key."""


def _key_of(t: Any, out: Any) -> None:
    out.add(t.mapped_key)


def mapped_aggregate(operator: Operator) -> Operator:
    """Return the aggregate A, which reads mapped tuples with one key each."""
    carried = _carried(operator)
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

    Column 0 is `ts`. Fields that the stream does not carry (`layout`) have 0 bytes.
    """
    places = {name: place for place, name in enumerate(operator.fields.names or (), 1)}
    return [
        (places[name], operator.fields[name].itemsize if name in layout.fields else 0)
        for name in (aggregate.fields.names or ())[1:]
    ]


def check_query(query: Query) -> str | None:
    """Return why a query cannot run behind a map stage, or None."""
    if (reason := check_single(query, "sn-map")) is not None:
        return reason
    (operator,) = query.operators
    if operator.join is not None:
        return (
            f"operator {operator.name} is a join, which variant sn-map cannot run; use variant "
            'vsn, or sn with join_form = "operator10"'
        )
    if KEY in (operator.fields.names or ()):
        return f"operator {operator.name} has a field {KEY}, which sn-map reserves; rename it"
    if not operator.lists:
        return None
    read = _fields_of_update(operator)
    if read is None or read & set(operator.lists):
        verb = "may read" if read is None else "reads"
        return (
            f"f_U of operator {operator.name} {verb} the lists {sorted(operator.lists)}, but mapped "
            "tuples have only scalar fields; copy the needed values into fields and read them as "
            "t.field, or use variant vsn or sn"
        )
    return None


def check_maps(maps: int, data: Input | Dataset) -> str | None:
    """Return why the number of map instances is invalid for an input, or None."""
    most = _core.MOST_STREAMS // max(1, len(data.streams))
    if 1 <= maps <= most:
        return None
    streams = f" with {len(data.streams)} streams" if len(data.streams) > 1 else ""
    return f"map_instances must be between 1 and {most}{streams}, got {maps}"


def _carried(operator: Operator) -> Sequence[str]:
    """Return the scalar fields that a mapped tuple needs in addition to its key."""
    names = operator.fields.names or ()
    read = _fields_of_update(operator)
    return names if read is None else [name for name in names if name in read]


def _fields_of_update(operator: Operator) -> frozenset[str] | None:
    """Return the fields that f_U reads; None if it may read all, as when tuples are stored."""
    if operator.stores or operator.update is None:
        return None
    return read_attributes(operator.update, 1)


def read_attributes(function: Callable[..., Any], parameter: int) -> frozenset[str] | None:
    """Return the attributes of the parameter at a position that a function reads, from its bytecode.

    Returns None if the function uses the parameter in another way, e.g. passes it on, so that it may read
    all attributes.
    """
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    if code is None or parameter >= code.co_argcount:
        return None
    name = code.co_varnames[parameter]
    if name in code.co_cellvars:
        return None
    read = set()
    instructions = list(dis.get_instructions(code))
    for place, here in enumerate(instructions):
        used = here.argval if isinstance(here.argval, tuple) else (here.argval,)
        if "_FAST" not in here.opname or name not in used:
            continue
        following = instructions[place + 1]
        # Some versions of Python merge two instructions; then the second must be the load.
        loads = here.opname.rsplit("_FAST", 1)[0].endswith("LOAD")
        if not loads or used[-1] != name or used.count(name) > 1 or following.opname != "LOAD_ATTR":
            return None
        read.add(following.argval)
    return frozenset(read)
