"""Measures the cost of a keyed operator: tumbling and sliding counts by key, CPU time per key.

A trial is a fresh process that makes its input, runs one query of operators O+ on the native core, and compares the
answer with NumPy's. `loop` is the upper bound on speed: a compiled single-threaded loop that counts the merged input
in an open-addressing hash table.
`numpy`, `polars` and `duckdb` (`make engine NAME=duckdb`) count tumbling windows of the same merged columns on one
thread; their tables are loaded before the clock starts.

    python -m benchmarks.keyed_operators --cases count-1000 words --runs vsn-1-64 vsn-2-64 loop
    python -m benchmarks.keyed_operators --cases count-1000 count-1000000 \
        --runs vsn-1-1 vsn-1-64 vsn-1-4096 sn-2-64 loop numpy polars duckdb
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

import numba
import numpy as np

from benchmarks.keyed_count import FIELDS, OUTPUT, count, forward, key
from benchmarks.turns import Numbers, run_program, show
from streamlab.engines.environment import activate
from streamlab.engines.multicore.oplus.options import OplusOptions
from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.workloads.model import (
    Alphabet,
    Input,
    InputType,
    ListColumn,
    Operator,
    Query,
    Stream,
    Window,
)

SIZE = 100_000
DISTANCE = 3
FIRST = 1 << 32


def each_word(t, out):
    """Output the words of a tuple."""
    for word in t.words:
        out.add(word)


def each_pair(t, out):
    """Output the pairs of words at most three apart, as `paircount` does."""
    for i in range(len(t.words)):
        for j in range(i + 1, min(len(t.words), i + DISTANCE + 1)):
            out.add(t.words[i] * FIRST + t.words[j])


LIBRARIES = ("numpy", "polars", "duckdb")


@dataclass(frozen=True)
class Case:
    """A query and its input."""

    tuples: int
    keys: int
    words: int = 0
    advance: int = SIZE
    pairs: bool = False
    exponent: float = 0  # exponent of Zipf's law; 0: all keys are equally frequent
    burst: int = 1  # consecutive tuples with the same key
    replaced: bool = False  # whether each window has new keys


CASES = {
    "count-1000": Case(4_000_000, 1000),
    "count-1000000": Case(4_000_000, 1_000_000),
    "zipf-1000000": Case(4_000_000, 1_000_000, exponent=1.1),
    "bursts-1000000": Case(4_000_000, 1_000_000, burst=1000),
    "replaced-1000000": Case(4_000_000, 1_000_000, replaced=True),
    "sliding-1000": Case(4_000_000, 1000, advance=SIZE // 4),
    "words": Case(400_000, 30_000, words=11, advance=SIZE // 2),
    "pairs": Case(300_000, 30_000, words=11, advance=SIZE // 2, pairs=True),
}


def columns_of(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the time and the stream of each tuple, and a row of keys per tuple."""
    rng = np.random.default_rng(7)
    ts = np.arange(case.tuples, dtype=np.int64) // 2
    stream = np.arange(case.tuples) % 2
    if not case.words:
        return ts, stream, _ids_of(case, ts, rng)[:, np.newaxis]
    skewed = rng.zipf(1.3, (case.tuples, case.words)) % case.keys
    return ts, stream, skewed.astype(np.int32)


def _ids_of(case: Case, ts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    draws = case.tuples // case.burst
    if case.exponent:
        weights = np.arange(1, case.keys + 1, dtype=np.float64) ** -case.exponent
        cumulative = np.cumsum(weights / weights.sum())
        ids = np.minimum(np.searchsorted(cumulative, rng.random(draws)), case.keys - 1)
    else:
        ids = rng.integers(0, case.keys, draws)
    ids = np.repeat(ids, case.burst).astype(np.int64)
    return ids + ts // SIZE * case.keys if case.replaced else ids


def keys_of(case: Case) -> np.ndarray:
    """Return the keys that f_MK outputs for each tuple, including repeated keys."""
    _, _, columns = columns_of(case)
    if not case.pairs:
        return columns
    wide = columns.astype(np.int64)
    near = [
        wide[:, i] * FIRST + wide[:, j]
        for i in range(case.words)
        for j in range(i + 1, min(case.words, i + DISTANCE + 1))
    ]
    return np.stack(near, axis=1)


def query_of(case: Case) -> tuple[Query, Input]:
    """Return the query and its input of two streams."""
    ts, stream, keys = columns_of(case)
    if case.words:
        kind = InputType(name="tuple", lists=(("words", np.dtype(np.int32)),))
    else:
        kind = InputType(name="tuple", fields=FIELDS)
    streams = []
    for index in range(2):
        rows = np.ascontiguousarray(keys[stream == index])
        flat = rows.reshape(-1)
        offsets = np.arange(len(rows) + 1, dtype=np.int64) * max(1, case.words)
        column = ListColumn(offsets=offsets, values=flat) if case.words else flat
        payload = {"words" if case.words else "id": column}
        streams.append(
            Stream(name=f"s{index}", kinds=(0,), ts=ts[stream == index], payload=payload)
        )
    operator = Operator(
        name="count",
        inputs=(kind,),
        window=Window(advance=case.advance, size=SIZE),
        output=OUTPUT,
        state=np.dtype([("count", np.int64)]),
        keys=each_pair if case.pairs else each_word if case.words else key,
        update=count,
        expire=forward,
    )
    query = Query(name="count", operators=(operator,))
    end_ts = int(ts[-1]) + 2 * SIZE  # all windows have ended
    alphabet = Alphabet(kinds=query.kinds)
    return query, Input(alphabet=alphabet, streams=tuple(streams), until_ts=end_ts)


def answers_of(case: Case) -> int:
    """Return an upper bound on the number of records in the answer."""
    windows = (case.tuples // 2 + SIZE) // case.advance + 1
    window_keys = 2 * SIZE * (DISTANCE if case.pairs else 1) * max(1, case.words)
    return windows * (window_keys if case.pairs else min(case.keys, window_keys))


@numba.njit
def count_in_table(ts, keys, size, table_keys, counts):
    """Count keys in tumbling windows; return a checksum of all counts."""
    mask = len(counts) - 1
    until = size
    checksum = 0
    for i in range(len(ts)):
        if ts[i] >= until:
            for slot in range(len(counts)):
                if counts[slot]:
                    checksum += table_keys[slot] * counts[slot]
                    counts[slot] = 0
            until += size
        for column in range(keys.shape[1]):
            key = keys[i, column]
            slot = (key * 0x9E3779B97F4A7C15 >> 20) & mask
            while counts[slot] and table_keys[slot] != key:
                slot = (slot + 1) & mask
            table_keys[slot] = key
            counts[slot] += 1
    for slot in range(len(counts)):
        checksum += table_keys[slot] * counts[slot]
    return checksum


def loop_trial(case: Case) -> tuple[float, float]:
    """Return keys/s and CPU ns per key of the bare loop."""
    ts, _, _ = columns_of(case)
    keys = keys_of(case)
    max_keys = 2 * SIZE * keys.shape[1]
    slots = 1 << (4 * (max_keys if case.pairs else min(case.keys, 2 * SIZE)) - 1).bit_length()
    arrays = np.zeros(slots, dtype=np.int64), np.zeros(slots, dtype=np.int64)
    count_in_table(ts[:1], keys[:1], SIZE, *arrays)
    arrays[1][:] = 0
    start, cpu = time.perf_counter(), time.process_time()
    checksum = count_in_table(ts, keys, SIZE, *arrays)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    if checksum != keys.sum():
        raise ArithmeticError("the loop counted wrong")
    return keys.size / wall, cpu / keys.size * 1e9


Counting = Callable[[], tuple[np.ndarray, np.ndarray]]
"""Returns all pairs of window and key as two arrays: keys and counts."""


def counting_with(library: str, ts: np.ndarray, keys: np.ndarray) -> Counting:
    """Return a function that counts keys in tumbling windows with a library, on one thread."""
    if library == "numpy":
        return lambda: _count_with_numpy(ts, keys)
    activate(library)
    os.environ["POLARS_MAX_THREADS"] = "1"
    module = import_module(library)  # installed in its own environment
    if library == "polars":
        frame = module.DataFrame({"ts": ts, "key": keys}).lazy()
        groups = frame.group_by(module.col("ts") // SIZE, "key").len()

        def count_with_polars() -> tuple[np.ndarray, np.ndarray]:
            counted = groups.collect()
            return counted["key"].to_numpy(), counted["len"].to_numpy()

        return count_with_polars
    connection = module.connect(config={"threads": 1})
    connection.register("columns", {"ts": ts, "key": keys})
    connection.execute("CREATE TABLE tuples AS SELECT * FROM columns")
    query = f"SELECT key, count(*) AS n FROM tuples GROUP BY ts // {SIZE}, key"

    def count_with_duckdb() -> tuple[np.ndarray, np.ndarray]:
        counted = connection.execute(query).fetchnumpy()
        return counted["key"], counted["n"]

    return count_with_duckdb


def _count_with_numpy(ts: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    bounds = np.searchsorted(ts, np.arange(SIZE, int(ts[-1]) + 1, SIZE))
    windows = [np.bincount(part) for part in np.split(keys, bounds)]
    present = [np.flatnonzero(window) for window in windows]
    counts = [window[ids] for window, ids in zip(windows, present, strict=True)]
    return np.concatenate(present), np.concatenate(counts)


def library_trial(case: Case, library: str) -> tuple[float, float]:
    """Return keys/s and CPU ns per key of a library's grouped count; tumbling windows only."""
    ts, _, keys = columns_of(case)
    count = counting_with(library, ts, keys[:, 0].copy())
    start, cpu = time.perf_counter(), time.process_time()
    counted, numbers = count()
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    if int(numbers.sum()) != keys.size or int((counted * numbers).sum()) != keys.sum():
        raise ArithmeticError(f"{library} counted wrong")
    return keys.size / wall, cpu / keys.size * 1e9


def run_trial(case: Case, variant: str, instances: int, batch: int) -> tuple[float, float]:
    """Return keys/s and CPU ns per key of one run of the core, all threads together."""
    query, data = query_of(case)
    settings = RunSettings(workers=instances, batch=batch, expected_outputs=answers_of(case))
    run = OplusRun(query, data, settings, OplusOptions(), shared_nothing=variant == "sn")
    start, cpu = time.perf_counter(), time.process_time()
    run.run()
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    answer = run.answer()
    keys = keys_of(case)
    distinct = keys.size
    if case.words:  # a key twice in a tuple counts once
        ordered = np.sort(keys, axis=1)
        distinct -= int((ordered[:, 1:] == ordered[:, :-1]).sum())
    windows = SIZE // case.advance
    if int(answer["count"].sum()) != distinct * windows:
        raise ArithmeticError(
            f"{variant} counted {answer['count'].sum()}, not {distinct * windows}"
        )
    return keys.size / wall, cpu / keys.size * 1e9


def trial(case: str, run: str) -> Numbers:
    """Run a fresh process; return keys/s and CPU ns per key, all threads together."""
    keys_per_s, cpu_ns = run_program("keyed_operators", "--trial", case, run)
    return {"keys_per_s": keys_per_s, "cpu_ns": cpu_ns}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument(
        "--runs", nargs="+", default=["vsn-1-64", "vsn-2-64", "sn-1-64", "sn-2-64", "vsn-1-1"]
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--trial", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.trial:
        case, run = CASES[options.trial[0]], options.trial[1]
        if run == "loop":
            result = loop_trial(case)
        elif run in LIBRARIES:
            result = library_trial(case, run)
        else:
            variant, instances, batch = run.split("-")
            result = run_trial(case, variant, int(instances), int(batch))
        print(json.dumps(result))
        return 0
    show(
        [f"{case} {run}" for case in options.cases for run in options.runs],
        trial,
        options.repetitions,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
