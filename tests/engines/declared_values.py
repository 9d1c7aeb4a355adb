"""Declared workloads whose values engines could understand differently, with answers computed by NumPy.

`python declared_values.py ENGINE VARIANT WORKERS` compares an engine with them; a wrong answer ends the process.
"""

import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import streamlab as lab
from streamlab.engines.environment import activate
from streamlab.engines.protocol import default_variant
from streamlab.engines.registry import engine as find_engine
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.decoded_answer import decode_answer
from tests.engines.tasks import run_task, task_of

MINUTE = 60_000
EXACT = 2**53
"""From here on, floats do not have all whole numbers."""

STATION = np.array(["b", "a", "b", "c", "a", "b", "b", "a"])
AT = np.array([0, 1, 2, 3, 4, MINUTE, MINUTE + 9, 5 * MINUTE])
V = np.array([1, 0, -1, EXACT + 1, 6, 7, EXACT + 3, 0])
W = np.array([0, 0, 0, 2, 3, 2, 0, 1])
F = np.array([0.5, 2, EXACT, EXACT, 100_001, 1, 99_999, 1])
with np.errstate(divide="ignore", invalid="ignore"):
    Q = V.astype(np.float64) / W.astype(np.float64)

table = lab.arrays(
    {"at": AT, "station": STATION, "v": V, "w": W, "f": F}, ts="at", time_format="ms"
)
rows = lab.select(
    {
        "station": "station",
        "q": "v / w",
        "third": "v / 3",
        "same": "v == f",
        "more": "v > f",
        "is_b": "'b' == station",
        "other": "station not in ('a', 'nowhere')",
        "equal": "v / w == v / w",
        "unequal": "v / w != v / w",
        "large": "v / w >= 2",
    },
    input=table,
    where="station != 'nowhere' and v / w <= 1e300 or w in (0, 5)",
    name="rows",
)
pairs = lab.count_window(
    2,
    input=rows,
    where="station in ('b', 'c', 'd')",
    result={
        "low": lab.min("q"),
        "high": lab.max("q"),
        "large": lab.sum("station == 'c' and q > 1"),
        "p": lab.percentile("q", 1),
    },
    name="pairs",
)
windows = lab.window(
    "1 min",
    key="station",
    input=table,
    where="station in ('b', 'a')",
    result={
        "mean": lab.mean("v"),
        "of_b": lab.sum("v * (station == 'b')"),
        "p": lab.percentile("f", 100, high=1e5),
        "q": lab.max("v / w"),
        "nan": lab.max("0 / w"),
    },
    name="windows",
)
first = lab.top(
    2, by="q", input=windows, where="station != 'c' and -q < 1", columns=["station"], name="first"
)
last = lab.top(3, by="nan", input=windows, size="1 min", columns=["station"], name="last")
long = lab.alert(
    "station != 'b' or v > 0", lasting="1 min", columns=["station"], input=table, name="long"
)
crowded = lab.window(
    "1 min", input=table, result={"n": lab.distinct("station", most=2)}, name="crowded"
)
fees = lab.arrays(
    {
        "at": [1, 2, MINUTE],
        "place": ["b", "c", "b"],
        "fee": [1.5, 2.0, 3.0],
        "sort": ["x", "y", "x"],
    },
    ts="at",
    time_format="ms",
)
VALUES = {"of": "left.at", "fee": "right.fee", "sort": "right.sort", "seen": "right.at"}
VALUES |= {"gain": "left.v - right.fee / 2", "is_y": "right.sort == 'y'"}
joined = lab.join(
    table,
    fees,
    on=("station", "place"),
    how="left",
    within=("1 ms", "2 ms"),
    every="10 ms",
    select=VALUES,
    name="joined",
)
latest = lab.join(
    table,
    fees,
    on=("station", "place"),
    how="asof",
    within="9 ms",
    select=VALUES | {"place": "right.place"},
    name="latest",
)

NAN, INF = np.nan, np.inf
EXPECTED: dict[str, dict[str, Any]] = {
    "rows": {
        "ts": AT,
        "station": STATION,
        "q": Q,
        "third": V.astype(np.float64) / 3.0,
        "same": V.astype(np.float64) == F,
        "more": V.astype(np.float64) > F,
        "is_b": STATION == "b",
        "other": STATION != "a",
        "equal": ~np.isnan(Q),
        "unequal": np.isnan(Q),
        "large": np.nan_to_num(Q, nan=0) >= 2,
    },
    "pairs": {
        "ts": [2, MINUTE],
        "low": [-INF, 3.5],
        "high": [INF, EXACT / 2],
        "large": [0, 1],
        "p": [-INF, 3.515625],
    },
    "windows": {
        "ts": [MINUTE, MINUTE, 2 * MINUTE],
        "station": ["b", "a", "b"],
        "mean": [0.0, 3.0, (EXACT + 10) / 2],
        "of_b": [0, 0, EXACT + 10],
        "p": [INF, INF, 99_840.0],
        "q": [INF, 2.0, INF],
        "nan": [NAN, 0.0, 0.0],
    },
    "first": {
        "ts": [2 * MINUTE, 2 * MINUTE, 3 * MINUTE],
        "rank": [1, 2, 1],
        "q": [INF, 2.0, INF],
        "station": ["b", "a", "b"],
        "at": [MINUTE, MINUTE, 2 * MINUTE],
    },
    "last": {
        "ts": [2 * MINUTE, 2 * MINUTE, 3 * MINUTE],
        "rank": [1, 2, 1],
        "nan": [0.0, NAN, 0.0],
        "station": ["a", "b", "b"],
        "at": [MINUTE, MINUTE, 2 * MINUTE],
    },
    "joined": {
        "ts": [10, 10, 10, 10, 10, MINUTE + 10, MINUTE + 20],
        "station": STATION[:7],
        "of": AT[:7],
        "fee": [1.5, 0, 1.5, 2, 0, 3, 0],
        "sort": ["x", "-1", "x", "y", "-1", "x", "-1"],
        "seen": [1, 0, 1, 2, 0, MINUTE, 0],
        "gain": V[:7] - np.array([0.75, 0, 0.75, 1, 0, 1.5, 0]),
        "is_y": [False, False, False, True, False, False, False],
        "matched": [True, False, True, True, False, True, False],
    },
    "latest": {
        "ts": AT,
        "station": STATION,
        "of": AT,
        "fee": [0, 0, 1.5, 2, 0, 3, 3, 0.0],
        "sort": ["-1", "-1", "x", "y", "-1", "x", "x", "-1"],
        "seen": [0, 0, 1, 2, 0, MINUTE, MINUTE, 0],
        "gain": V - np.array([0, 0, 0.75, 1, 0, 1.5, 1.5, 0]),
        "is_y": [False, False, False, True, False, False, False, False],
        "place": ["-1", "-1", "b", "c", "-1", "b", "b", "-1"],
        "matched": [False, False, True, True, False, True, True, False],
    },
    "long": {"ts": [MINUTE + 9], "since": [3], "station": ["b"]},
}
"""The answers, by workload."""

BEYOND = r"distinct\(station\): a window has more than 2 different values; raise most=2"


def check(name: str, variant: str, workers: int, folder: Path) -> None:
    """Run all workloads on an engine; raises if an answer is wrong."""
    engine = find_engine(name)
    catalog = Catalog(root=folder / "catalogue")
    for subject in (rows, pairs, windows, first, last, long, joined, latest, crowded):
        dataset = ensure(subject, {}, 0, 1, catalog=catalog)
        used = variant or default_variant(engine.variants(), type(subject.program)).name
        task = task_of(subject, dataset, folder / subject.name, used, workers=workers)
        if subject is crowded:
            try:
                run_task(engine, task)
            except Exception as error:  # each library has its type
                assert re.search(BEYOND, str(error)), error
            else:
                raise AssertionError(f"{name}: a window has three stations, and room for two")
            continue
        _, answer = run_task(engine, task)
        times = {column.name for column in subject.declaration.output if column.is_time}
        decoded = decode_answer(subject, dataset, answer)
        actual = {key: answer[key] if key in times else each for key, each in decoded.items()}
        expected = EXPECTED[subject.name]
        assert list(actual) == list(expected)
        found, right = rows_of(actual, expected), rows_of(expected, expected)
        assert found == right, f"{name}, {subject.name}: {found}, expected {right}"


def rows_of(columns: Mapping[str, Any], like: Mapping[str, Any]) -> list[str]:
    """Return rows as texts, sorted, with the types of other columns; NaN is equal to NaN."""
    typed = [np.asarray(columns[name], np.asarray(like[name]).dtype) for name in like]
    return sorted(str(row) for row in zip(*(column.tolist() for column in typed), strict=True))


if __name__ == "__main__":
    activate(sys.argv[1])
    with tempfile.TemporaryDirectory() as place:
        check(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(place))
