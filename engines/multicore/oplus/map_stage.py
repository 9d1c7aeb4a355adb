"""What a map stage makes of an operator: map instances M, and the aggregate A behind them.

Source: STRETCH, Corollary 1; appendix C, Algorithm 7 and Operator 8; appendix D, Algorithms 11 and
13 and Operator 12. M emits for each key of a tuple one with that key, which is the f_SK of A, and
with what f_U reads of the tuple.
"""

import dis
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.oplus.kernels import TupleLayout
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Input, InputType, Operator, Query

KEY = "mapped_key"
"""The field of a mapped tuple that holds its key."""


def _key_of(t: Any, out: Any) -> None:
    out.add(t.mapped_key)


def aggregate_behind(operator: Operator) -> Operator:
    """Return A, whose tuples have one key each."""
    wanted = _carried(operator)
    parts = tuple(
        InputType(
            name=part.name,
            fields=np.dtype(
                [(KEY, np.int64)]
                + [(name, part.fields[name]) for name in part.fields.names or () if name in wanted]
            ),
        )
        for part in operator.inputs
    )
    return replace(operator, inputs=parts, keys=_key_of, bag=False)


def layout_behind(aggregate: Operator, layout: TupleLayout) -> TupleLayout:
    """Return the layout of the mapped tuples of a stream, by that of its own tuples."""
    has = (KEY, *layout.fields)
    names = tuple(name for name in aggregate.fields.names or () if name in has)
    return TupleLayout(input=layout.input, fields=names, lists=())


def carried_columns(
    operator: Operator, aggregate: Operator, layout: TupleLayout
) -> list[tuple[int, int]]:
    """Return of each field behind the key its column, counted with `ts`, and its bytes.

    Args:
        operator: whose tuples the stream holds.
        aggregate: what reads the mapped ones.
        layout: of the stream; what it does not carry has no bytes.
    """
    places = {name: place for place, name in enumerate(operator.fields.names or (), 1)}
    return [
        (places[name], operator.fields[name].itemsize if name in layout.fields else 0)
        for name in (aggregate.fields.names or ())[1:]
    ]


def refused(query: Query) -> str | None:
    """Return why a query cannot run behind a map stage, or None."""
    if len(query.operators) > 1:
        return (
            f"query {query.name} has {len(query.operators)} operators; behind a map stage is one: "
            "use vsn"
        )
    (operator,) = query.operators
    if operator.join is not None:
        return (
            f"operator {operator.name} is a join; behind a map stage the core runs aggregates: use "
            'vsn, or sn with join_form = "operator10"'
        )
    if KEY in (operator.fields.names or ()):
        return f"operator {operator.name} has a field {KEY}, as mapped tuples have: rename it"
    if not operator.lists:
        return None
    read = _read_by_update(operator)
    if read is None or read & set(operator.lists):
        how = "may read" if read is None else "reads"
        return (
            f"f_U of operator {operator.name} {how} the lists {sorted(operator.lists)}; a mapped "
            "tuple has scalar fields only: take what is needed of a list into a field and read it "
            "as t.field, or use vsn or sn"
        )
    return None


def wrong_maps(maps: int, data: Input | Dataset) -> str | None:
    """Return what is wrong with the number of map instances for an input, or None."""
    most = _core.MOST_STREAMS // max(1, len(data.streams))
    if 1 <= maps <= most:
        return None
    streams = f" with {len(data.streams)} streams" if len(data.streams) > 1 else ""
    return f"map_instances must be between 1 and {most}{streams}, got {maps}"


def _carried(operator: Operator) -> Sequence[str]:
    """Return the scalar fields that a mapped tuple needs beside its key."""
    names = operator.fields.names or ()
    read = _read_by_update(operator)
    return names if read is None else [name for name in names if name in read]


def _read_by_update(operator: Operator) -> frozenset[str] | None:
    """Return what f_U reads of a tuple, None where all may be read; stored tuples are whole."""
    if operator.stores or operator.update is None:
        return None
    return attributes_read(operator.update, 1)


def attributes_read(function: Callable[..., Any], parameter: int) -> frozenset[str] | None:
    """Return the attributes that a function reads of a parameter, by its bytecode.

    Args:
        function: the function; of one that Numba has compiled, the one that was written.
        parameter: its position.

    Returns:
        Their names; None where the parameter is used otherwise (handed on, say) and so all of them
        may be read.
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
        behind = instructions[place + 1]
        # Some versions do two things at once; the last is to be a load, for the next instruction.
        loads = here.opname.rsplit("_FAST", 1)[0].endswith("LOAD")
        if not loads or used[-1] != name or used.count(name) > 1 or behind.opname != "LOAD_ATTR":
            return None
        read.add(behind.argval)
    return frozenset(read)
