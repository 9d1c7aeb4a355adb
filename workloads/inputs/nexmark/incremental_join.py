"""Builds the join of queries 3 and 20. Each key has one event of a given type; it pairs with the key's other events.

A pair leaves at the time of its later event. Events that come before the event of the given type are stored until then.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import EVENT, FOREVER_MS, fields
from streamlab.workloads.model import InputType, Operator, Window
from streamlab.workloads.model.operators.program import SINGLE, keep

_MAX_PAIRS = 64
"""Largest number of stored events with which the event of the given type pairs when it comes."""


def incremental_join(
    name: str,
    *,
    kind: int,
    columns: tuple[str, ...],
    output: np.dtype[np.void],
    state: np.dtype[np.void],
    keys: Callable[[Any, Any], None],
    note: Callable[[Any, Any], None],
    emit: Callable[[Any, Any, Any], None],
) -> Operator:
    """Return the operator.

    Args:
        name: name of the operator.
        kind: type of the event that occurs once for each key.
        columns: columns of events that `keys`, `note` and `emit` read.
        output: type of the records.
        state: fields that `note` sets and `emit` reads, and `joins`. `joins` is 0 before the event of type `kind`, then
            1 if that event has pairs, or -1 if not.
        keys: f_MK, which adds the key of an event; events without a key are left out.
        note: `note(s, t)` stores event `t` of type `kind` in state `s`, and sets `s.joins`.
        emit: `emit(s, t, out)` emits the pair of the stored event and another event `t`.
    """

    def join(w: Any, t: Any, out: Any) -> None:
        s = w[0]
        if t.type == kind:
            note(s, t)
            while s.tuples:
                if s.joins > 0:
                    emit(s, s.tuples[0], out)
                s.tuples.popleft()
        elif s.joins == 0:
            s.tuples.append(t)
        elif s.joins > 0:
            emit(s, t, out)

    return Operator(
        name=name,
        inputs=(InputType(name=EVENT, fields=fields("type", *columns)),),
        window=Window(advance=FOREVER_MS, size=FOREVER_MS, type=SINGLE),
        output=output,
        state=state,
        keys=keys,
        update=join,
        slide=keep,
        stores=True,
        emits_on_update=True,
        keeps_time=True,
        max_outputs=_MAX_PAIRS,
    )
