"""Joins page views with the current metadata of the page (DGS paper, section 4.1, appendix E).

The program is keyed by page: pages are independent, and so are views of one page. An update emits
the metadata that it replaces. The metadata of a page is 0 before its first update.
"""

from typing import Any

import numpy as np

from streamlab.workloads.model import DGSProgram, ForkJoin, StateType, Tag

VIEW, UPDATE = 0, 1
NO_USER = -1


def depends(a: Tag, b: Tag) -> bool:
    """Return whether either event is an update of the same page; views do not depend on each other."""
    return a.key == b.key and (a.kind == UPDATE or b.kind == UPDATE)


def init(state: Any) -> None:
    """Start with metadata 0."""
    state.meta = 0
    state.version = 0


def update(state: Any, event: Any, out: Any) -> None:
    """Join a view with the metadata; on an update, emit the current metadata and replace it."""
    if event.kind == VIEW:
        out.emit(event.ts, VIEW, event.key, event.user, state.meta)
    else:
        out.emit(event.ts, UPDATE, event.key, NO_USER, state.meta)
        state.meta = event.meta
        state.version += 1


def fork(state: Any, pred1: Any, pred2: Any, first: Any, second: Any) -> None:
    """Copy the metadata to both parts."""
    first.meta = state.meta
    first.version = state.version
    second.meta = state.meta
    second.version = state.version


def join(first: Any, second: Any, state: Any) -> None:
    """Keep the newer metadata, from the part with more updates."""
    if second.version > first.version:
        state.meta = second.meta
        state.version = second.version
    else:
        state.meta = first.meta
        state.version = first.version


PROGRAM = DGSProgram(
    name="page_view_join",
    kinds=("view", "update"),
    event=np.dtype([("user", np.int32), ("meta", np.int32)]),
    output=np.dtype(
        [
            ("ts", np.int64),
            ("kind", np.int8),
            ("page", np.int32),
            ("user", np.int32),
            ("meta", np.int32),
        ]
    ),
    depends=depends,
    states=(
        StateType(
            name="page",
            dtype=np.dtype([("meta", np.int32), ("version", np.int32)]),
            update=update,
        ),
    ),
    init=init,
    parallel=(ForkJoin(parent="page", first="page", second="page", fork=fork, join=join),),
    keyed=True,
)
