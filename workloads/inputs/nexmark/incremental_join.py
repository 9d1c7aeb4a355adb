"""Builds the operator of queries 3 and 20: a join of an event with all others of its key, as they come.

Others may precede the event; they are then stored. A record has the time of the later event.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import EVENT, FOREVER_MS, fields
from streamlab.workloads.model import InputType, Operator, Window
from streamlab.workloads.model.operators.program import SINGLE, keep


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
        name: of the operator.
        kind: type of the event that occurs once for each key.
        columns: those that the functions read.
        output: type of the records.
        state: what `emit` reads of the event, and `joins`: 1 if the event has pairs, else -1.
        keys: the key of an event; without one it is left out.
        note: `note(s, t)` sets the state to event `t`.
        emit: `emit(s, t, out)` forwards the pair with another event `t`.
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
        max_outputs=64,
    )
