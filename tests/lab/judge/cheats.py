"""Engines that cheat: each gets its number, or its answer, in a way that is not measured.

A plug-in like anybody's: `test_hostile_engines.py` installs it for the trials that it runs.
"""

import hashlib
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from streamlab.engines.base import BatchEngine, StreamingEngine
from streamlab.engines.errors import EngineCrashError
from streamlab.engines.protocol import Measured, Task
from streamlab.workloads.model import Columns
from streamlab.workloads.model.streams.records import Emitter

WORK_S = 0.4
"""Long beside all that the lab itself does around a run."""


def answer_of(task: Task) -> Columns:
    return task.workload.oracle(task.dataset.load())


def work() -> None:
    """Use WORK_S of CPU time."""
    end = time.thread_time() + WORK_S
    while time.thread_time() < end:
        pass


class WorksInPrepare(BatchEngine):
    """Computes before the clock starts, and sleeps while it runs."""

    name = "works-in-prepare"

    def load(self, task: Task) -> Columns:
        work()
        return answer_of(task)

    def compute(self, task: Task, data: Columns) -> Columns:
        time.sleep(0.01)
        return data


class RunsNothing(WorksInPrepare):
    """Computes before the clock starts, and returns at once when it runs."""

    name = "runs-nothing"

    def compute(self, task: Task, data: Columns) -> Columns:
        return data


class WorksInColumns(BatchEngine):
    """Computes after the clock has stopped."""

    name = "works-in-columns"

    def compute(self, task: Task, data: Any) -> Task:
        time.sleep(0.01)
        return task

    def columns(self, task: Task, answer: Task) -> Columns:
        work()
        return answer_of(answer)


class WorksInBackground(BatchEngine):
    """Starts a thread while it runs, and waits for it after the clock has stopped."""

    name = "works-in-background"

    def compute(self, task: Task, data: Any) -> threading.Thread:
        thread = threading.Thread(target=work)
        thread.start()
        return thread

    def columns(self, task: Task, answer: threading.Thread) -> Columns:
        answer.join()
        return answer_of(task)


class Remembers(BatchEngine):
    """Leaves a note wherever it can write, and says how many it has found."""

    name = "remembers"

    def load(self, task: Task) -> Any:
        home = Path(os.environ["HOME"])
        cache = Path(os.environ["LAB_CACHE"])
        temporary = Path(tempfile.gettempdir())
        shared = (Path("/tmp"), Path("/dev/shm"), task.dataset.streams[0].path.parent)
        own = (Path.cwd(), Path(__file__).parent)
        mark = f"cheat-{os.environ['CHEAT_MARK']}"
        self.found = 0
        for place in (home, home / ".cache", cache, temporary, *shared, *own):
            self.found += (place / mark).exists()
            try:
                (place / mark).write_text("answer")
            except OSError:
                continue
        return task.dataset.load()

    def compute(self, task: Task, data: Any) -> Columns:
        return task.workload.oracle(data)

    def plan(self, task: Task) -> str:
        return f"found {self.found}"


class Copies(BatchEngine):
    """Looks for a file with the right answer's columns in all that it can reach."""

    name = "copies"

    def compute(self, task: Task, data: Any) -> Columns:
        names = list(task.workload.program.output.names or ())
        for path in sorted(Path(os.environ["CHEAT_SEARCH"]).rglob("*.parquet")):
            table = pq.read_table(path)
            if table.column_names == names:
                return {name: table.column(name).to_numpy() for name in names}
        raise EngineCrashError("found no answer to copy")


class UsesThreads(BatchEngine):
    """Uses four threads where one worker was asked for."""

    name = "uses-threads"

    def compute(self, task: Task, data: Any) -> Columns:
        def hash_for_long() -> None:
            end = time.thread_time() + WORK_S
            while time.thread_time() < end:
                hashlib.pbkdf2_hmac("sha256", b"x", b"y", 10_000)  # without Python's lock

        threads = [threading.Thread(target=hash_for_long) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answer_of(task)


def slow_clock(function: Callable[[], int]) -> Callable[[], int]:
    begin = function()
    return lambda: begin + (function() - begin) // 10


class SlowsClock(BatchEngine):
    """Makes the clock of its process run at a tenth."""

    name = "slows-clock"

    def load(self, task: Task) -> Columns:
        time.monotonic_ns = slow_clock(time.monotonic_ns)
        return answer_of(task)

    def compute(self, task: Task, data: Columns) -> Columns:
        time.sleep(WORK_S)
        return data


class HidesCpu(BatchEngine):
    """Makes the lab's reading of its CPU time return nothing."""

    name = "hides-cpu"

    def compute(self, task: Task, data: Any) -> Columns:
        from streamlab.lab.measure.usage import Usage
        from streamlab.lab.trial import timed_part

        work()
        timed_part.own_usage = Usage
        timed_part.usage_of = lambda processes: Usage()
        return answer_of(task)


class ReportsLate(BatchEngine):
    """Has the begin of its timed part stamped when its work is done."""

    name = "reports-late"

    def load(self, task: Task) -> Columns:
        from streamlab.lab.trial.report import Reporter

        self.stamp, self.held = Reporter.stamp, []
        Reporter.stamp = lambda *given: self.held.append(given)  # type: ignore[method-assign]
        return answer_of(task)

    def compute(self, task: Task, data: Columns) -> Columns:
        from streamlab.lab.trial.report import Reporter

        time.sleep(WORK_S)
        Reporter.stamp = self.stamp  # type: ignore[method-assign]
        for given in self.held:
            self.stamp(*given)
        now = time.monotonic_ns()
        time.monotonic_ns = lambda: now - round(WORK_S * 1e9)
        return data


class WorksInRefusal(BatchEngine):
    """Computes while it is asked whether it can run the task."""

    name = "works-in-refusal"

    def refused(self, task: Task) -> str | None:
        work()
        self.right = answer_of(task)
        return None

    def compute(self, task: Task, data: Any) -> Columns:
        return self.right


class LazyArray:
    """A column that is computed when it is read."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        work()
        return self.values


class AnswersLazily(BatchEngine):
    """Computes when its columns are read."""

    name = "answers-lazily"

    def start(self, task: Task) -> Any:
        prepared = super().start(task)
        right = answer_of(task)
        prepared.answer = lambda: {name: LazyArray(column) for name, column in right.items()}
        return prepared

    def compute(self, task: Task, data: Any) -> None:
        return None


class PatchesVerdict(BatchEngine):
    """Gives a wrong answer, and replaces the lab's comparison by one that likes it."""

    name = "patches-verdict"

    def compute(self, task: Task, data: Any) -> Columns:
        from streamlab.lab.judge import verdict
        from streamlab.workloads.model.answers import trace

        verdict.check_answer = lambda *_: None
        trace.compare = lambda *_, **__: None
        answer = dict(answer_of(task))
        return {name: column[:-1] for name, column in answer.items()}


class ForgesResult(BatchEngine):
    """Writes the trial's evidence itself: the right answer after a nanosecond."""

    name = "forges-result"

    def compute(self, task: Task, data: Any) -> Columns:
        from streamlab.lab.trial.evidence import Evidence, TimedPart, store_answer, write_evidence

        folder = Path(sys.argv[2])
        timed = TimedPart(
            start_ns=0,
            ran_ns=1,
            end_ns=1,
            measured=Measured(events=task.dataset.events),
            tracks={},
            energy={},
            answer=store_answer(answer_of(task), folder),
        )
        columns = {"duration_s": 1e-9, "throughput_eps": 1e12, "status": "ok", "cpu_s": 1e-9}
        write_evidence(Evidence(columns=columns, timed=timed), folder)
        os._exit(0)


class ForgesVerdict(BatchEngine):
    """Writes the trial's evidence itself: a status and a rate, and no answer."""

    name = "forges-verdict"

    def compute(self, task: Task, data: Any) -> Columns:
        forged = {"status": "ok", "columns": {"throughput_eps": 1e12, "status": "ok"}}
        (Path(sys.argv[2]) / "evidence.json").write_text(json.dumps(forged))
        os._exit(0)


class Guesses(StreamingEngine):
    """Emits all outputs at the first event, whenever the others are due."""

    name = "guesses"

    def start(self, task: Task) -> Any:
        self.right = answer_of(replace(task, load=None))
        return super().start(task)

    def process(self, task: Task, events: Iterable[Any], out: Emitter) -> None:
        for number, _ in enumerate(events):
            if number == 0:
                for row in zip(*self.right.values(), strict=True):
                    out.emit(*row)


class Loses(BatchEngine):
    """Loses an output."""

    name = "loses"

    def compute(self, task: Task, data: Any) -> Columns:
        return {name: column[1:] for name, column in answer_of(task).items()}
