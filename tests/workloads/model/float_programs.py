"""Programs that add floats between two marks: by rounded additions, and exactly."""

from typing import Any

import numpy as np

from streamlab.workloads.model import DGSProgram, ForkJoin, StateType, Tag
from streamlab.workloads.model.arrays import copy
from streamlab.workloads.model.exact_sum import (
    EXACT_SUM,
    add_exactly,
    clear_sum,
    join_sums,
    round_sum,
)

ADD, MARK = 0, 1
EVENT = np.dtype([("v", np.float64)])
OUTPUT = np.dtype([("ts", np.int64), ("sum", np.float64)])


def depends(a: Tag, b: Tag) -> bool:
    return a.kind == MARK or b.kind == MARK


def init(box: Any) -> None:
    pass


def update(box: Any, event: Any, out: Any) -> None:
    if event.kind == ADD:
        box.sum += event.v
    else:
        out.emit(event.ts, box.sum)
        box.sum = 0.0


def fork(box: Any, first: Any, second: Any, one: Any, two: Any) -> None:
    if second[MARK]:
        two.sum = box.sum
    else:
        one.sum = box.sum


def join(one: Any, two: Any, box: Any) -> None:
    box.sum = one.sum + two.sum


def update_exactly(box: Any, event: Any, out: Any) -> None:
    if event.kind == ADD:
        add_exactly(box.sum, event.v)
    else:
        out.emit(event.ts, round_sum(box.sum))
        clear_sum(box.sum)


def fork_exactly(box: Any, first: Any, second: Any, one: Any, two: Any) -> None:
    if second[MARK]:
        copy(box.sum, two.sum)
    else:
        copy(box.sum, one.sum)


def join_exactly(one: Any, two: Any, box: Any) -> None:
    join_sums(one.sum, two.sum, box.sum)


def program(name: str, state: np.dtype[np.void], update: Any, fork: Any, join: Any) -> DGSProgram:
    return DGSProgram(
        name=name,
        kinds=("add", "mark"),
        event=EVENT,
        output=OUTPUT,
        depends=depends,
        states=(StateType(name="box", dtype=state, update=update),),
        init=init,
        parallel=(ForkJoin(parent="box", first="box", second="box", fork=fork, join=join),),
    )


ROUNDED = program("rounded_sum", np.dtype([("sum", np.float64)]), update, fork, join)
EXACTLY = program(
    "exact_sum",
    np.dtype([("sum", np.int64, EXACT_SUM)]),
    update_exactly,
    fork_exactly,
    join_exactly,
)
