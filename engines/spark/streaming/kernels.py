"""Computes the outputs of a complete prefix of the input (`Prefix` in chunk.py), with one function per workload.

Each function takes the state (plain values by name, empty at first), the prefix and the program's number of keys. It
updates the state and returns the output columns with `src`, the stream of the event that caused each output.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.spark.streaming.chunk import Prefix
from streamlab.workloads.suite.fraud_detection.program import AGGREGATE, FRAUD, MODULUS
from streamlab.workloads.suite.page_view_join.program import NO_USER, UPDATE, VIEW

State = dict[str, Any]
Output = dict[str, npt.NDArray[Any]]
Kernel = Callable[[State, Prefix, int], Output]


def event_window(state: State, prefix: Prefix, keys: int) -> Output:
    """Sum the values of each window; the sum of the open window is the state."""
    sums = _sums(prefix)
    sums[0] += state.get("sum", 0)
    state["sum"] = sums[-1]
    return {"ts": prefix.separators["ts"], "sum": sums[:-1], "src": prefix.separators["src"]}


def fraud_detection(state: State, prefix: Prefix, keys: int) -> Output:
    """Aggregate each window, derive the model of the next, then check the transactions."""
    rules = prefix.separators
    sums = _sums(prefix)
    sums[0] += state.get("sum", 0)
    models = np.concatenate([[state.get("model", 0)], (sums[:-1] + rules["value"]) % MODULUS])
    state["sum"], state["model"] = sums[-1], models[-1]
    count = len(rules["ts"])
    # Outputs at the same place have the same kind, so (ts, src, row) orders them.
    parts = [(rules["ts"], np.full(count, AGGREGATE), sums[:-1], rules["src"], rules["row"])]
    for src, run in prefix.bulk.items():
        rows = np.flatnonzero(run["value"] % MODULUS == models[prefix.before[src]])
        parts.append(
            (
                run["ts"][rows],
                np.full(len(rows), FRAUD),
                run["value"][rows],
                np.full(len(rows), src),
                rows,
            )
        )
    ts, kind, value, source, row = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((row, source, ts))
    return {"ts": ts[order], "kind": kind[order], "value": value[order], "src": source[order]}


def keyed_counter(state: State, prefix: Prefix, keys: int) -> Output:
    """Count the increments of each key between its read-resets; the open counts are the state."""
    resets = prefix.separators
    count = len(resets["ts"])
    order, starts = _by_key(resets["key"], keys)
    counts = np.zeros(count + keys, dtype=np.int64)
    for src, run in prefix.bulk.items():
        place = _next_of_key(resets["key"], order, run["key"], prefix.before[src])
        # Slots: the read-resets by key and order, each key followed by its open count.
        counts += np.bincount(place + run["key"], minlength=len(counts))
    slots = np.arange(count) + resets["key"][order]
    open_slots = starts[1:] + np.arange(keys)
    open_counts = state.get("count", np.zeros(keys, dtype=np.int64))
    counts[starts[:-1] + np.arange(keys)] += open_counts
    state["count"] = counts[open_slots]
    reset_counts = np.empty(count, dtype=np.int64)
    reset_counts[order] = counts[slots]
    return {"ts": resets["ts"], "key": resets["key"], "count": reset_counts, "src": resets["src"]}


def page_view_join(state: State, prefix: Prefix, keys: int) -> Output:
    """Join the events of one stream with their page's metadata; the state is the metadata of all pages.

    `state["stream"]` is the stream; the other streams are in the prefix only for their updates.
    """
    updates, stream = prefix.separators, state["stream"]
    order, starts = _by_key(updates["key"], keys)
    meta = state.get("meta", np.zeros(keys, dtype=np.int64))
    # For each page, the metadata from the state, then the metadata of each update.
    count = len(order)
    chain = np.empty(count + keys, dtype=np.int64)
    chain[starts[:-1] + np.arange(keys)] = meta
    chain[np.arange(count) + updates["key"][order] + 1] = updates["value"][order]
    state["meta"] = chain[starts[1:] + np.arange(keys)]
    is_own = updates["src"] == stream
    replaced_meta = np.empty(count, dtype=np.int64)
    replaced_meta[order] = chain[np.arange(count) + updates["key"][order]]
    values: tuple[Any, ...]
    if stream in prefix.bulk:
        run = prefix.bulk[stream]
        place = _next_of_key(updates["key"], order, run["key"], prefix.before[stream])
        values = run["ts"], VIEW, run["key"], run["user"], chain[place + run["key"]]
    else:
        values = (
            updates["ts"][is_own],
            UPDATE,
            updates["key"][is_own],
            NO_USER,
            replaced_meta[is_own],
        )
    output = dict(
        zip(("ts", "kind", "page", "user", "meta", "src"), (*values, stream), strict=True)
    )
    return {name: np.broadcast_to(column, len(values[0])) for name, column in output.items()}


def _sums(prefix: Prefix) -> npt.NDArray[np.int64]:
    """Return the sum of each window and, last, of the open window."""
    total = np.zeros(len(prefix.separators["ts"]) + 1, dtype=np.int64)
    for src, run in prefix.bulk.items():
        # Positions of the first event of each window; an empty window has the next window's position.
        starts = np.searchsorted(prefix.before[src], np.arange(len(total)))
        sums_so_far = np.concatenate([[0], np.cumsum(run["value"])])
        total += np.diff(sums_so_far[np.append(starts, len(run["value"]))])
    return total


def _by_key(key: npt.NDArray[Any], keys: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the separators' order by key, and the start of each key in this order, with the end appended."""
    order = np.argsort(key, kind="stable")
    return order, np.searchsorted(key[order], np.arange(keys + 1))


def _next_of_key(
    separator_key: npt.NDArray[Any],
    order: npt.NDArray[Any],
    key: npt.NDArray[Any],
    before: npt.NDArray[Any],
) -> npt.NDArray[Any]:
    """Return, for each bulk event, the position of the key's next separator in the separators' order by key."""
    stride = len(order) + 1
    place = np.searchsorted(separator_key[order] * stride + order, key * stride + before)
    return np.asarray(place)


KERNELS: dict[str, Kernel] = {
    "event_window": event_window,
    "fraud_detection": fraud_detection,
    "keyed_counter": keyed_counter,
    "page_view_join": page_view_join,
}
