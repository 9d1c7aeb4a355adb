"""Runs the streaming query under an offered load: files arrive on schedule, independent of Spark."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from streamlab.engines.errors import EngineCrashError
from streamlab.engines.protocol import IntArray, Measured, OfferedLoad
from streamlab.engines.spark.dgs import DgsQuery, outputs, packed_source
from streamlab.engines.spark.layout import Layout
from streamlab.engines.spark.query import columns_of, reader
from streamlab.engines.spark.streaming.file_source import Dropper
from streamlab.engines.spark.streaming.latencies import Batch, measure
from streamlab.engines.spark.streaming.load_files import BEATS, cut, stage
from streamlab.engines.spark.streaming.operator import BEAT, BEAT_SRC, PACKED, packer
from streamlab.workloads.model import Columns

LOOK_S = 0.2
"""Interval of the checks whether the query or the dropper has failed."""
REPORT_S = 5.0
"""Longest wait for the report of a micro-batch after its output."""


class OpenLoop:
    """Controls a streaming query that waits for files, and the process that drops them."""

    def __init__(
        self,
        session: SparkSession,
        plan: Layout,
        ts: tuple[IntArray, ...],
        load: OfferedLoad,
        *,
        dgs: DgsQuery,
        period_ns: int,
        folder: Path,
    ) -> None:
        """Stage all files and start the query and the dropper; nothing is dropped yet.

        `ts` are the event times of each stream; the events of one period share a file; `folder` must not exist.
        """
        self._ts, self._load = ts, load
        self._expected = {src: len(times) for src, times in enumerate(ts)}
        self._drops = cut(ts, load.due_ns, load.end_ns, period_ns)
        watched = folder / "watched"
        staged = stage(plan, self._drops, folder / "staging", watched)
        query = dgs.describe(plan, staged.columns, beats=True)
        self._output = query.output
        self._answers: dict[int, tuple[int, pa.Table]] = {}
        self._processed: dict[int, int] = {}
        self._complete = threading.Event()
        largest = int(self._drops.events.max(initial=1))
        # About as many events as a micro-batch takes at full speed, when the query catches up.
        files = max(1, dgs.micro_batch_events // largest)

        def arriving(columns: Sequence[tuple[str, str]], name: str) -> DataFrame:
            # Delete files after reading, since listing a folder takes longer with every file in it.
            files_read = reader(session, columns, files).option("cleanSource", "delete")
            return files_read.parquet(str(watched / name))

        sources = [
            packed_source(query, src, arriving(query.columns[src], f"stream-{src}"))
            for src in range(len(ts))
        ]
        beats = arriving(BEAT, BEATS)
        groups = range(len(query.labels) if query.per_stream else 1)
        sources.append(beats.mapInArrow(packer(query, BEAT_SRC, groups), PACKED))
        writer = outputs(sources, query).writeStream.outputMode("append")
        self._started = (
            writer.foreachBatch(self._sink)
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(processingTime="0 seconds")
            .start()
        )
        planned = self._drops.planned_ns.tolist()
        self._dropper = Dropper(planned, staged.moves, folder / "plan.json")

    def run(self) -> tuple[Measured, Columns]:
        """Start the load; return the measurements and the outputs when every event is processed.

        Raises:
            EngineCrashError: the query or the dropper failed.
        """
        start_ns = time.monotonic_ns()
        wall_ns = time.time_ns() - time.monotonic_ns()
        self._dropper.start(start_ns)
        while any(self._expected.values()) and not self._complete.wait(LOOK_S):
            self._check()
        reports = self._reports()
        self._started.stop()
        dropped = self._dropper.result()
        begun = {number: begin - wall_ns - start_ns for number, begin in reports.items()}
        batches = self._batches(start_ns, begun)
        dropped_ns = np.array(dropped.times_ns, dtype=np.int64)
        answer = {
            name: np.concatenate(
                [np.zeros(0, dtype), *(batch.output[name] for batch in batches)], dtype=dtype
            )
            for name, dtype in self._output
        }
        measured = replace(
            measure(batches, self._ts, self._load, self._drops, dropped_ns),
            plan="streaming, form packed, open loop",
            counters={
                "micro_batches": float(len(batches)),
                "drops": float(len(self._drops)),
                "real_time_dropper": float(dropped.real_time),
            },
        )
        return measured, answer

    def close(self) -> None:
        """Stop the query and the dropper. May be called twice."""
        self._dropper.close()
        self._started.stop()

    def _sink(self, frame: DataFrame, batch: int) -> None:
        table = frame.toArrow()
        self._answers[batch] = time.monotonic_ns(), table
        self._processed |= _acknowledgements(table)
        if self._processed == self._expected:
            self._complete.set()

    def _check(self) -> None:
        failure = self._started.exception()
        if failure is not None:
            raise failure
        if not self._started.isActive:
            raise EngineCrashError("the streaming query ended before its input did")
        if self._dropper.failed():
            raise EngineCrashError("the process that drops files failed; see its error above")

    def _reports(self) -> Mapping[int, int]:
        """Return when each micro-batch began, on the wall clock in ns."""
        last = max(self._answers, default=-1)
        deadline = time.monotonic() + REPORT_S
        # Spark reports a micro-batch when it is committed, a moment after its output.
        while time.monotonic() < deadline:
            report = self._started.lastProgress
            if last < 0 or (report is not None and report["batchId"] >= last):
                break
            time.sleep(0.005)
        begun: dict[int, int] = {}
        for report in self._started.recentProgress:
            if report["numInputRows"]:
                begun[report["batchId"]] = _wall_ns(report["timestamp"])
        return begun

    def _batches(self, start_ns: int, begun: Mapping[int, int]) -> list[Batch]:
        batches: list[Batch] = []
        processed: dict[int, int] = {}
        for number, (at_ns, table) in sorted(self._answers.items()):
            processed |= _acknowledgements(table)
            columns = columns_of(table)
            real = columns["src"].astype(np.int64) >= 0
            done_ns = at_ns - start_ns
            batches.append(
                Batch(
                    taken_ns=begun.get(number, done_ns),
                    done_ns=done_ns,
                    output={name: column[real] for name, column in columns.items()},
                    processed=dict(processed),
                )
            )
        return batches


def _acknowledgements(table: pa.Table) -> dict[int, int]:
    source = table["src"].to_numpy()
    at = np.flatnonzero(source < 0)
    rows = table["ts"].to_numpy()[at]
    return {int(BEAT_SRC - src): int(n) for src, n in zip(source[at], rows, strict=True)}


def _wall_ns(timestamp: str) -> int:
    return int(datetime.fromisoformat(timestamp).timestamp() * 1e3) * 1_000_000
