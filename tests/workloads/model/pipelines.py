"""Small pipelines of every kind of operator, for tests."""

from typing import Any

import numpy as np

from streamlab.workloads.model import Pipeline, Stage, partitioned, stateful, stateless

EVENT = np.dtype([("k", np.int32), ("v", np.int32)])
PAIR = np.dtype([("ts", np.int64), ("k", np.int32), ("v", np.int64)])
SUM = np.dtype([("sum", np.int64)])


def key_of(t: Any) -> Any:
    return t.k


def twice_unless_0(t: Any, out: Any) -> None:
    if t.v != 0:
        out.emit(t.k, t.v)
        out.emit(t.k, t.v + 100)


def sum_of_key(s: Any, t: Any, out: Any) -> None:
    s.sum += t.v
    out.emit(t.k, s.sum)


def sum_of_all(s: Any, t: Any, out: Any) -> None:
    s.sum += t.v
    if s.sum % 2 == 0:
        out.emit(t.k, s.sum)


def pipeline(*stages: Stage) -> Pipeline:
    return Pipeline(name="small", record="pair", event=EVENT, stages=stages)


TWICE = stateless(name="twice", output=PAIR, apply=twice_unless_0, max_outputs=2)
BY_KEY = partitioned(name="by_key", output=PAIR, key=key_of, state=SUM, apply=sum_of_key)
OF_ALL = stateful(name="of_all", output=PAIR, state=SUM, apply=sum_of_all)
ALL_KINDS = pipeline(TWICE, BY_KEY, OF_ALL)
