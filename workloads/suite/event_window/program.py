"""Sums all values between two barriers (DGS paper, section 4.1, appendix E)."""

from typing import Any

import numpy as np

from streamlab.workloads.model import DGSProgram, ForkJoin, StateType, Tag

VALUE, BARRIER = 0, 1


def depends(a: Tag, b: Tag) -> bool:
    """Return whether either event is a barrier; values do not depend on each other."""
    return a.kind == BARRIER or b.kind == BARRIER


def init(state: Any) -> None:
    """Start with an empty window."""
    state.sum = 0


def update(state: Any, event: Any, out: Any) -> None:
    """Add a value; on a barrier emit the sum since the last barrier and start over."""
    if event.kind == VALUE:
        state.sum += event.value
    else:
        out.emit(event.ts, state.sum)
        state.sum = 0


def fork(state: Any, pred1: Any, pred2: Any, first: Any, second: Any) -> None:
    """Give the running sum to the part that may see barriers, or to the first part if neither may."""
    if pred2[BARRIER]:
        second.sum = state.sum
    else:
        first.sum = state.sum


def join(first: Any, second: Any, state: Any) -> None:
    """Add the partial sums."""
    state.sum = first.sum + second.sum


PROGRAM = DGSProgram(
    name="event_window",
    kinds=("value", "barrier"),
    event=np.dtype([("value", np.int64)]),
    output=np.dtype([("ts", np.int64), ("sum", np.int64)]),
    depends=depends,
    states=(StateType(name="window", dtype=np.dtype([("sum", np.int64)]), update=update),),
    init=init,
    parallel=(ForkJoin(parent="window", first="window", second="window", fork=fork, join=join),),
)
