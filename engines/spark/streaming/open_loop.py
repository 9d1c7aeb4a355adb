"""Runs the streaming query under an offered load: files arrive in drops (see load_files.py), independent of Spark."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from streamlab.engines.errors import EngineCrashError
from streamlab.engines.protocol import IntArray, Measured, OfferedLoad, Sent
from streamlab.engines.recording import histogram, progress
from streamlab.engines.spark.dgs import DgsQuery, outputs, packed_source
from streamlab.engines.spark.query import arrow_schema, columns_of, reader
from streamlab.engines.spark.streaming.file_source import Dropper
from streamlab.engines.spark.streaming.load_files import BEATS, Drops, cut, stage
from streamlab.engines.spark.streaming.operator import BEAT, BEAT_SRC, PACKED, packer
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Columns

LATENCY = (
    "from the due time of the event that caused an output (the first of those with its stream and "
    "event time) to its micro-batch's output in the driver; waiting for the file to be complete "
    "is part of it"
)
SERVICE = "from the start of the micro-batch that took the event to its output in the driver"
LAG = "per event, from when its file was to be dropped to when it was"


class Batch(NamedTuple):
    """One micro-batch as recorded by the driver; times are ns after the start of the load.

    Attributes:
        taken_ns: when Spark began the micro-batch.
        done_ns: when the driver had its output.
        outputs: how many outputs it has.
        processed: how many events all micro-batches up to this one have processed.
    """

    taken_ns: int
    done_ns: int
    outputs: int
    processed: int


def measure(
    batches: Sequence[Batch],
    output: Columns,
    ts: Sequence[IntArray],
    load: OfferedLoad,
    drops: Drops,
    dropped_ns: IntArray,
) -> Measured:
    """Return the measurements of a run.

    Args:
        batches: the micro-batches, in order.
        output: all outputs of the micro-batches, with column `src`.
        ts: the event times of each stream.
        load: the offered load.
        drops: the planned drops.
        dropped_ns: when each drop was done, in ns after the start of the load.
    """
    taken_ns, done_ns, sizes, processed = np.array(batches, dtype=np.int64).reshape(-1, 4).T
    due = due_times(output, ts, load.due_ns)
    emit = np.repeat(done_ns, sizes)
    steady = due >= load.warm_up_ns
    service = np.repeat(done_ns - taken_ns, sizes)
    lag = np.repeat(dropped_ns - drops.planned_ns, drops.events)
    return Measured(
        events=int(processed.max(initial=0)),
        latency=histogram((emit - due)[steady], LATENCY),
        warm_up_latency=histogram((emit - due)[~steady], LATENCY),
        service_latency=histogram(service[steady], SERVICE),
        progress=progress(
            sent_ns=np.repeat(dropped_ns, drops.events),
            done_ns=np.repeat(done_ns, np.diff(processed, prepend=0)),
            emit_ns=emit,
            latency_ns=emit - due,
        ),
        sent=Sent(events=len(lag), lag=histogram(lag, LAG), own_thread=True),
    )


def due_times(output: Columns, ts: Sequence[IntArray], due_ns: Sequence[IntArray]) -> IntArray:
    """Return, for each output, the due time of the event that caused the output.

    An output has the stream and event time of that event. If several events share a stream and event time, the first
    event counts, so that no latency is too short.
    """
    source = output["src"]
    due = np.zeros(len(source), dtype=np.int64)
    for src in np.unique(source):
        mask = source == src
        due[mask] = due_ns[src][np.searchsorted(ts[src], output["ts"][mask])]
    return due


LOOK_S = 0.2
"""Interval of the checks for a failure of the query or the dropper."""
REPORT_S = 5.0
"""Longest wait for the report of a micro-batch after its output."""


class OpenLoop:
    """Controls a streaming query that waits for files, and the process that drops them."""

    def __init__(
        self,
        session: SparkSession,
        dataset: Dataset,
        ts: tuple[IntArray, ...],
        load: OfferedLoad,
        *,
        dgs: DgsQuery,
        period_ns: int,
        folder: Path,
    ) -> None:
        """Stage all files and start the query and the dropper; nothing is dropped yet.

        Args:
            session: the session that runs the query.
            dataset: the input.
            ts: the event times of each stream.
            load: the offered load.
            dgs: the query.
            period_ns: length of a period, whose events share a file.
            folder: where to write; must not exist.
        """
        self._ts, self._load = ts, load
        self._expected = {src: len(times) for src, times in enumerate(ts)}
        self._drops = cut(ts, load.due_ns, load.end_ns, period_ns)
        watched = folder / "watched"
        moves = stage(dgs, dataset, self._drops, folder / "staging", watched)
        query = dgs.describe(dataset, beats=True)
        self._output = query.output
        self._answers: dict[int, tuple[int, pa.Table]] = {}
        self._processed: dict[int, int] = {}
        self._complete = threading.Event()
        max_drop_events = int(self._drops.events.max(initial=1))
        # About as many events as a micro-batch takes at full speed, when the query catches up.
        files = max(1, dgs.micro_batch_events // max_drop_events)

        def arriving(columns: Sequence[tuple[str, str]], name: str) -> DataFrame:
            # Delete each file after reading it: the more files a folder has, the longer Spark takes to list it.
            files_read = reader(session, columns, files).option("cleanSource", "delete")
            return files_read.parquet(str(watched / name))

        sources = [
            packed_source(query, part.src, arriving(part.columns, part.folder))
            for part in dgs.parts(dataset)
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
        self._dropper = Dropper(planned, moves, folder / "plan.json")

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
        began_ns = self._batch_starts()
        self._started.stop()
        drop_times = self._dropper.result()
        batches: list[Batch] = []
        schema = arrow_schema(self._output)
        tables = [schema.empty_table()]
        processed: dict[int, int] = {}
        for number, (answered_ns, table) in sorted(self._answers.items()):
            processed |= _acknowledgements(table)
            tables.append(table.filter(pc.field("src") >= 0).cast(schema))
            done_ns = answered_ns - start_ns
            taken_ns = began_ns[number] - wall_ns - start_ns if number in began_ns else done_ns
            batches.append(Batch(taken_ns, done_ns, len(tables[-1]), sum(processed.values())))
        answer = columns_of(pa.concat_tables(tables))
        dropped_ns = np.array(drop_times.times_ns, dtype=np.int64)
        measured = replace(
            measure(batches, answer, self._ts, self._load, self._drops, dropped_ns),
            plan="streaming, form packed, open loop",
            counters={
                "micro_batches": float(len(batches)),
                "drops": float(len(self._drops)),
                "real_time_dropper": float(drop_times.real_time),
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
            raise EngineCrashError("the streaming query ended before it had read all input")
        if self._dropper.has_failed():
            raise EngineCrashError("the process that drops files failed; see its error above")

    def _batch_starts(self) -> dict[int, int]:
        """Return when each micro-batch began, on the wall clock in ns."""
        last_batch = max(self._answers, default=-1)
        deadline = time.monotonic() + REPORT_S
        # Spark reports a micro-batch when it is committed, shortly after its output.
        while time.monotonic() < deadline:
            report = self._started.lastProgress
            if last_batch < 0 or (report is not None and report["batchId"] >= last_batch):
                break
            time.sleep(0.005)
        return {
            report["batchId"]: _wall_ns(report["timestamp"])
            for report in self._started.recentProgress
            if report["numInputRows"]
        }


def _acknowledgements(table: pa.Table) -> dict[int, int]:
    """Return, by stream, the number of processed events that the operator acknowledges (see operator.py)."""
    source = table["src"].to_numpy()
    rows = np.flatnonzero(source < 0)
    processed = table["ts"].to_numpy()[rows]
    return {int(BEAT_SRC - src): int(n) for src, n in zip(source[rows], processed, strict=True)}


def _wall_ns(timestamp: str) -> int:
    return int(datetime.fromisoformat(timestamp).timestamp() * 1e3) * 1_000_000
