"""Compares the CPU time per event of declared workloads with that of programs written for a model.

A trial is a fresh process that runs one program on the multicore engine with one worker.
All forms of a case must give the same answer, which is checked.

    python -m benchmarks.declarative --cases tumbling session --repetitions 5
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import streamlab as lab
from benchmarks.turns import Numbers, run_program, show
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.protocol import Task
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.tables import Table
from streamlab.workloads.model import (
    InputType,
    Operator,
    Pipeline,
    Query,
    Window,
    Workload,
    partitioned,
)
from streamlab.workloads.model.operators.program import SINGLE

EVENTS = 2_000_000
RUNS = 7
"""Runs per trial. The run with the least CPU time counts, since waiting threads may spin on a busy machine."""

KEYS = 1_000
SIZE, EVERY, PAUSE, HELD = 60_000, 20_000, 1_500, 3_000
ROWS = 50
FIELDS = np.dtype([("key_id", np.int64), ("value", np.float64)])
SUMS = np.dtype([("ts", np.int64), ("key_id", np.int64), ("rows", np.int64), ("mean", np.float64)])


def table(events: int) -> Table:
    """Return events with random keys, a thousand events per second of event time."""
    chance = np.random.default_rng(7)
    columns = {
        "ts": np.arange(events),
        "key_id": chance.integers(0, KEYS, events),
        "value": chance.integers(0, 1_000, events) / 8,
    }
    return lab.arrays(columns, ts="ts", time_format="ms")


def by_key(t, out):
    """Output the key of a row."""
    out.add(t.key_id)


def add(w, t, out):
    """Count a row and add its value."""
    w[0].rows += 1
    w[0].total += t.value


def give(w, out):
    """Output count and mean."""
    out.emit(w[0].key, w[0].rows, w[0].total / w[0].rows)


SUM_STATE = np.dtype([("rows", np.int64), ("total", np.float64)])


def written_window(advance: int) -> Query:
    """Return counts and means per key, written for operators O+."""
    operator = Operator(
        name="written",
        inputs=(InputType(name="row", fields=FIELDS),),
        window=Window(advance=advance, size=SIZE),
        output=SUMS,
        state=SUM_STATE,
        keys=by_key,
        update=add,
        expire=give,
    )
    return Query(name="written", operators=(operator,))


def class_window(every: str, rows: Table) -> Workload:
    """Return counts and means per key, declared as a class."""

    @lab.window("1 min", every=every, key="key_id", input=rows, name="case")
    class Means:
        rows: int
        total: float

        def add(self, row):
            self.rows += 1
            self.total += row.value

        def result(self):
            return {"rows": self.rows, "mean": self.total / self.rows}

    return Means


MEANS = {"rows": lab.count(), "mean": lab.mean("value")}


def named_window(every: str, rows: Table) -> Workload:
    """Return counts and means per key, declared with named aggregates."""
    return lab.window("1 min", every=every, key="key_id", input=rows, result=MEANS, name="case")


SESSIONS = np.dtype(
    [
        ("ts", np.int64),
        ("key_id", np.int64),
        ("first", np.int64),
        ("last", np.int64),
        ("rows", np.int64),
        ("mean", np.float64),
    ]
)


def written_session() -> Query:
    """Return sessions, written for operators O+."""

    def update(w, t, out):
        s = w[0]
        if s.rows > 0 and t.ts - s.last > PAUSE:
            out.emit(s.key, s.first, s.last, s.rows, s.total / s.rows)
            s.rows = 0
            s.total = 0.0
        if s.rows == 0:
            s.first = t.ts
        s.last = t.ts
        s.rows += 1
        s.total += t.value

    def expire(w, out):
        s = w[0]
        if s.rows > 0 and s.last < s.left:
            out.emit(s.key, s.first, s.last, s.rows, s.total / s.rows)

    def slide(w):
        s = w[0]
        if s.rows > 0 and s.last < s.left - PAUSE:
            s.rows = 0
            s.total = 0.0
            s.first = 0
            s.last = 0

    operator = Operator(
        name="written",
        inputs=(InputType(name="row", fields=FIELDS),),
        window=Window(advance=PAUSE, size=PAUSE, type=SINGLE),
        output=SESSIONS,
        state=np.dtype([*SUM_STATE.descr, ("first", np.int64), ("last", np.int64)]),
        keys=by_key,
        update=update,
        expire=expire,
        slide=slide,
        emits_on_update=True,
    )
    return Query(name="written", operators=(operator,))


def key_of(t):
    """Return the key of a row."""
    return t.key_id


def written_stage(output: np.dtype, state: np.dtype, apply: Callable[..., None]) -> Pipeline:
    """Return a pipeline of one partitioned stage."""
    stage = partitioned(name="written", output=output, key=key_of, state=state, apply=apply)
    return Pipeline(name="written", record="row", event=FIELDS, stages=(stage,))


def written_count() -> Pipeline:
    """Return count windows, written for pipelines."""

    def apply(s, t, out):
        s.rows += 1
        s.total += t.value
        if s.rows == ROWS:
            out.emit(t.key_id, s.rows, s.total / s.rows)
            s.rows = 0
            s.total = 0.0

    return written_stage(SUMS, SUM_STATE, apply)


def written_duplicates() -> Pipeline:
    """Return rows without duplicates, written for pipelines."""

    def apply(s, t, out):
        if s.seen == 0 or t.ts - s.last > PAUSE:
            s.seen = 1
            s.last = t.ts
            out.emit(t.key_id, t.value)

    output = np.dtype([("ts", np.int64), *FIELDS.descr])
    return written_stage(output, np.dtype([("seen", np.int8), ("last", np.int64)]), apply)


def written_alert() -> Pipeline:
    """Return alerts, written for pipelines."""

    def apply(s, t, out):
        if t.value <= 40:
            s.phase = 0
            return
        if s.phase == 0:
            s.phase = 1
            s.since = t.ts
        if s.phase == 1 and t.ts - s.since >= HELD:
            s.phase = 2
            out.emit(t.key_id, s.since)

    output = np.dtype([("ts", np.int64), ("key_id", np.int64), ("since", np.int64)])
    return written_stage(output, np.dtype([("phase", np.int8), ("since", np.int64)]), apply)


Form = Callable[[Table], Workload]


def written(program: Query | Pipeline) -> Form:
    """Return the form that runs a program written for its model."""
    return lambda rows: lab.workload(program, input=rows, name="case")


CASES: Mapping[str, Mapping[str, Form]] = {
    "tumbling": {
        "written": written(written_window(SIZE)),
        "class": lambda rows: class_window("1 min", rows),
        "named": lambda rows: named_window("1 min", rows),
    },
    "sliding": {
        "written": written(written_window(EVERY)),
        "class": lambda rows: class_window("20 s", rows),
        "named": lambda rows: named_window("20 s", rows),
    },
    "session": {
        "written": written(written_session()),
        "named": lambda rows: lab.session(
            "1500 ms", key="key_id", input=rows, result=MEANS, name="case"
        ),
    },
    "count": {
        "written": written(written_count()),
        "named": lambda rows: lab.count_window(
            ROWS, key="key_id", input=rows, result=MEANS, name="case"
        ),
    },
    "duplicates": {
        "written": written(written_duplicates()),
        "named": lambda rows: lab.deduplicate(
            key="key_id", within="1500 ms", input=rows, name="case"
        ),
    },
    "alert": {
        "written": written(written_alert()),
        "named": lambda rows: lab.alert(
            "value > 40", lasting="3 s", key="key_id", input=rows, name="case"
        ),
    },
}


def run_trial(case: str, form: str, events: int) -> tuple[float, float, float]:
    """Return events/s and CPU ns per event of the best run, over all threads, and a checksum of the answer."""
    subject = CASES[case][form](table(events))
    with TemporaryDirectory(prefix="declarative-") as folder:
        dataset = ensure(subject, {}, 0, 1, catalog=Catalog(root=Path(folder) / "data"))
        variant = "vsn" if isinstance(subject.program, Query) else "ordered"
        task = Task(
            workload=subject,
            dataset=dataset,
            variant=variant,
            workers=1,
            batch=4096,
            scratch=Path(folder),
        )
        times = []
        for _ in range(RUNS):
            with closing(MulticoreEngine().prepare(task)) as prepared:
                start, cpu = time.perf_counter(), time.process_time()
                prepared.run()
                times.append((time.process_time() - cpu, time.perf_counter() - start))
                answer = prepared.answer()
    checksum = float(sum(np.sum(column, dtype=np.float64) for column in answer.values()))
    cpu, wall = min(times)
    return events / wall, cpu / events * 1e9, checksum


def trial(case: str, form: str) -> Numbers:
    """Run a fresh process; return its numbers."""
    eps, cpu_ns, checksum = run_program("declarative", "--trial", case, form)
    if _CHECKSUMS.setdefault(case, checksum) != checksum:
        raise ArithmeticError(f"{case}: {form} gives another answer than the first form")
    return {"eps": eps, "cpu_ns": cpu_ns}


_CHECKSUMS: dict[str, float] = {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--trial", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.trial:
        print(json.dumps(run_trial(*options.trial, EVENTS)))
        return 0
    ways = [f"{case} {form}" for case in options.cases for form in CASES[case]]
    show(ways, trial, options.repetitions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
