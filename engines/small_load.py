"""Makes small offered loads without the lab; for tests of adapters.

The lab's own loads come from `streamlab.lab.load`. This code is naive on purpose, so that it is easy to verify.
"""

from collections.abc import Sequence

import numpy as np

from streamlab.engines.protocol import ADAPTIVE, IntArray, OfferedLoad

HEARTBEAT_NS = 1_000_000


def small_load(
    times: Sequence[IntArray],
    due_ns: IntArray,
    *,
    warm_up_ns: int = 0,
    silence_ns: int = 0,
    batching: str = ADAPTIVE,
) -> OfferedLoad:
    """Return a load with one heartbeat per stream a millisecond, which lasts `silence_ns` after the last event.

    `times` are event times of each stream; `due_ns`, int64[n], ascending, are due times of all events in their total
    order.
    """
    ts = np.concatenate(times)
    order = np.argsort(ts, kind="stable")  # (event time, stream, position)
    by_row = np.empty(len(ts), dtype=np.int64)
    by_row[order] = due_ns
    last_ns = int(due_ns[-1]) if len(due_ns) else 0
    beat_ts: list[int] = []
    beat_due: list[int] = []
    for at in [*range(HEARTBEAT_NS, last_ns, HEARTBEAT_NS), last_ns][: len(due_ns)]:
        sent = int(np.searchsorted(due_ns, at, side="right"))
        # All events at or before the frontier, of any stream, have been sent.
        frontier = int(ts[order[sent]]) - 1 if sent < len(order) else int(ts[order[-1]])
        if sent and (not beat_ts or frontier > beat_ts[-1]):
            beat_ts.append(frontier)
            beat_due.append(at)
    beats = np.array(beat_ts, dtype=np.int64), np.array(beat_due, dtype=np.int64)
    return OfferedLoad(
        due_ns=tuple(np.split(by_row, np.cumsum([len(stream) for stream in times])[:-1])),
        heartbeat_ts=tuple(beats[0].copy() for _ in times),
        heartbeat_due_ns=tuple(beats[1].copy() for _ in times),
        warm_up_ns=warm_up_ns,
        end_ns=last_ns + silence_ns,
        batching=batching,
    )
