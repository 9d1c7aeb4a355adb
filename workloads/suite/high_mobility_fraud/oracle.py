"""Computes the expected counts: sorts places by phone, then compares neighbours."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.suite.high_mobility_fraud.schema import CALL


def oracle(data: Input, area: int, most_mps: float, window_ms: int) -> Columns:
    """Return (ts, begin, cases) of each window that has cases and was ended by a later case."""
    calls = total_order(data, CALL)
    chosen = np.flatnonzero(calls.payload["area"] == area)
    ts = np.repeat(calls.ts[chosen], 2)

    def caller_and_callee(caller: str, callee: str) -> np.ndarray:
        columns = [calls.payload[name][chosen] for name in (caller, callee)]
        return np.column_stack(columns).ravel().astype(np.int64)

    phone, x, y = (
        caller_and_callee("caller", "callee"),
        caller_and_callee("caller_x", "callee_x"),
        caller_and_callee("caller_y", "callee_y"),
    )
    by_phone = np.argsort(phone, kind="stable")
    same = np.diff(phone[by_phone]) == 0
    after = by_phone[1:][same]
    east, north = (np.diff(place[by_phone])[same].astype(np.float64) for place in (x, y))
    metres = np.sqrt(east * east + north * north)
    ms = np.maximum(np.diff(ts[by_phone])[same], 1)
    cases = np.sort(after[metres * 1000.0 / ms > most_mps])
    begin = ts[cases] - ts[cases] % window_ms
    ends = 1 + np.flatnonzero(np.diff(begin))
    return {
        "ts": ts[cases][ends],
        "begin": begin[ends - 1],
        "cases": np.diff(ends, prepend=0),
    }
