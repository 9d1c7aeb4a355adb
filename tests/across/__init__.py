"""Programs with events across keys, for tests of all that runs them."""

from typing import Any

import numpy as np

from streamlab.workloads.model import Across, DGSProgram, ForkJoin, OutputType, StateType

READ, RESET, HOUSE, SLICE = range(4)
KINDS = ("read", "reset", "house", "slice")
PLUGS_OF_A_HOUSE = 2


def depends(a: Any, b: Any) -> bool:
    """Readings of a plug commute."""
    return a.key == b.key and RESET in (a.kind, b.kind)


def update(plug: Any, event: Any, out: Any) -> None:
    """Add up a plug's readings, and give the sum away at a reset."""
    if event.kind == READ:
        plug.count += 1
        plug.sum += event.value
    else:
        out.emit(event.ts, RESET, event.key, plug.count, plug.sum)
        plug.count = 0
        plug.sum = 0


def fork(plug: Any, pred1: Any, pred2: Any, first: Any, second: Any) -> None:
    """Leave all on the side that may be reset."""
    side = second if pred2[RESET] else first
    side.count = plug.count
    side.sum = plug.sum


def join(first: Any, second: Any, plug: Any) -> None:
    """Add up both sides."""
    plug.count = first.count + second.count
    plug.sum = first.sum + second.sum


def house_of(plug: int) -> int:
    """Return a plug's house."""
    return plug // PLUGS_OF_A_HOUSE


def at_house(house: Any, plugs: Any, event: Any, out: Any) -> None:
    """Give the sum of a house, and how often it was asked for."""
    house.asked += 1
    total = 0
    for i in range(len(plugs)):
        total += plugs[i].sum
    out.emit(event.ts, HOUSE, event.key, house.asked, total)


def at_slice(_: Any, plugs: Any, event: Any, out: Any) -> None:
    """Give each plug's sum, and what remains of it in the next slice: half of it."""
    for i in range(len(plugs)):
        plug = plugs[i]
        out.emit(event.ts, SLICE, plugs.key(i), plug.count, plug.sum)
        plug.sum = plug.sum // 2
        plug.count = 0


PLUGS = DGSProgram(
    name="plugs",
    kinds=KINDS,
    event=np.dtype([("value", np.int64)]),
    output=np.dtype(
        [
            ("ts", np.int64),
            ("kind", np.int32),
            ("key", np.int32),
            ("count", np.int64),
            ("sum", np.int64),
        ]
    ),
    depends=depends,
    states=(
        StateType(
            name="plug", dtype=np.dtype([("count", np.int64), ("sum", np.int64)]), update=update
        ),
    ),
    init=lambda plug: None,
    parallel=(ForkJoin(parent="plug", first="plug", second="plug", fork=fork, join=join),),
    keyed=True,
    across=(
        Across(
            name="house",
            kinds=("house",),
            update=at_house,
            group=house_of,
            state=np.dtype([("asked", np.int64)]),
        ),
        Across(
            name="slice", kinds=("slice",), update=at_slice, max_outputs=0, outputs_per_member=1
        ),
    ),
)


def _in_order(a: Any, b: Any) -> bool:
    kinds = {a.kind, b.kind}
    return kinds == {HOUSE, SLICE} or (a.key == b.key and kinds != {HOUSE, RESET})


OUTPUT = OutputType(kinds=KINDS, kind_field="kind", key_field="key", depends=_in_order)
"""What of the answer is in order: a plug's rows, a house's, and houses' and those of slices."""
