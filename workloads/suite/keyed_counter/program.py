"""Counts increments by key until a read-reset (DGS paper, section 2, figure 1).

The paper's state is a map whose entries never interact. Here the program is keyed, and one entry is
the state. As in the paper, a read-reset depends on all events of its key.
"""

from typing import Any

import numpy as np

from streamlab.workloads.model import DGSProgram, ForkJoin, StateType, Tag

INCREMENT, READ_RESET = 0, 1


def depends(a: Tag, b: Tag) -> bool:
    """Return whether two events have the same key and at least one of them is a read-reset."""
    return a.key == b.key and (a.kind == READ_RESET or b.kind == READ_RESET)


def init(state: Any) -> None:
    """Start at zero."""
    state.count = 0


def update(state: Any, event: Any, out: Any) -> None:
    """Count an increment; on a read-reset emit the count and start over."""
    if event.kind == INCREMENT:
        state.count += 1
    else:
        out.emit(event.ts, event.key, state.count)
        state.count = 0


def fork(state: Any, pred1: Any, pred2: Any, first: Any, second: Any) -> None:
    """Give the count to the part that may see read-resets, or to the first part if neither may."""
    if pred2[READ_RESET]:
        second.count = state.count
    else:
        first.count = state.count


def join(first: Any, second: Any, state: Any) -> None:
    """Add the counts."""
    state.count = first.count + second.count


PROGRAM = DGSProgram(
    name="keyed_counter",
    kinds=("increment", "read_reset"),
    event=np.dtype([]),
    output=np.dtype([("ts", np.int64), ("key", np.int32), ("count", np.int64)]),
    depends=depends,
    states=(StateType(name="counter", dtype=np.dtype([("count", np.int64)]), update=update),),
    init=init,
    parallel=(ForkJoin(parent="counter", first="counter", second="counter", fork=fork, join=join),),
    keyed=True,
)
