"""Offers a load through a broker: a process produces each row when it is due, and never waits for a reader.

`python -m streamlab.engines.broker.generator JOB` reads the job from a file and prints `ready`. It then reads the start
of the run (ns of the monotonic clock) from its standard input, and prints `done` after the last row.
"""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from streamlab.engines.broker.records import MAX_ROWS, NO_PROMISE, Rows, Topic, rows_of
from streamlab.engines.broker.topics import (
    TIMEOUT_S,
    check_answers,
    client,
    connection,
    create_topics,
    delete_topics_of,
    split,
)
from streamlab.engines.command_process import CommandProcess
from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.engines.protocol import IntArray, OfferedLoad, Sent
from streamlab.engines.recording import PUNCTUAL_NS, counts_by_step, histogram
from streamlab.workloads.model import Stream

CLOSE_GRACE_S = 5.0
FLUSH_S = 60.0
"""The load fails if the broker does not acknowledge the last records within this time."""
SHORTEST_SLEEP_S = 5e-3
"""Rows of a stream and partition that are due within this time share a record, because each record costs readers time.
Kafka's own producers wait as long (linger.ms)."""
_LAG = "per event, from due to handed to the broker's client"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    address: str
    topics: tuple[Topic, ...]
    streams: tuple[Stream, ...]
    load: OfferedLoad
    folder: Path


def load_at_once(streams: Sequence[Stream]) -> OfferedLoad:
    """Return a load whose events and heartbeats are all due at the start."""
    beats = tuple(np.ascontiguousarray(stream.heartbeats, np.int64) for stream in streams)
    return OfferedLoad(
        due_ns=tuple(np.zeros(len(stream), np.int64) for stream in streams),
        heartbeat_ts=beats,
        heartbeat_due_ns=tuple(np.zeros(len(times), np.int64) for times in beats),
        warm_up_ns=0,
        end_ns=0,
    )


class LoadGenerator:
    """Creates a load's topics and controls the process that fills them; `close` ends the process and deletes them."""

    def __init__(
        self,
        address: str,
        topics: Sequence[Topic],
        streams: Sequence[Stream],
        load: OfferedLoad,
        folder: Path,
        prefix: str,
    ) -> None:
        """Create copies of the topics, with names that begin with `prefix`, and start the process.

        The process waits for `begin`.

        Raises:
            EngineError: the broker does not answer or refuses the topics.
            EngineCrashError: the process has ended.
        """
        self._address = address
        self._load = load
        self._prefix = f"{prefix}load."
        self.topics = tuple(
            replace(topic, name=f"{self._prefix}{index}") for index, topic in enumerate(topics)
        )
        check_answers(address)
        kafka = client()
        try:
            create_topics(address, self.topics)
        except kafka.KafkaException as error:
            raise EngineError(
                f"the broker at {address} cannot create topics: {error.args[0]}; see its log"
            ) from error
        self._folder = folder
        path = folder / "load.pickle"
        job = _Job(
            address=address, topics=self.topics, streams=tuple(streams), load=load, folder=folder
        )
        path.write_bytes(pickle.dumps(job, pickle.HIGHEST_PROTOCOL))
        self._process: subprocess.Popen[str] | None = subprocess.Popen(
            [sys.executable, "-m", "streamlab.engines.broker.generator", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        try:
            self._expect("ready")
        except BaseException:
            self.close()
            raise

    def begin(self, start_ns: int) -> None:
        """Start the load; due times count from `start_ns` of the monotonic clock.

        Raises:
            EngineCrashError: the process has ended.
        """
        assert self._process is not None and self._process.stdin is not None
        try:
            print(start_ns, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise self._ended() from None

    def drive(
        self, reader: CommandProcess, *, with_start: bool = False
    ) -> tuple[int, tuple[int, ...], Sent]:
        """Start the load, send `go` to a process that reads it, and wait until both are done.

        Args:
            reader: the process.
            with_start: whether to send the start time with `go`.

        Returns:
            The start time in ns of the monotonic clock, the reader's reply, and the report of sent events.

        Raises:
            EngineCrashError: one of the two processes failed.
        """
        start_ns = time.monotonic_ns()
        self.begin(start_ns)
        try:
            reply = reader.ask(f"go {start_ns}" if with_start else "go")
        except EngineCrashError:
            self.check()  # The reader may have failed because the generator did.
            raise
        return start_ns, reply, self.sent()

    def is_sending(self) -> bool:
        """Return whether the process still runs."""
        process = self._process
        return process is not None and process.poll() is None

    def check(self) -> None:
        """Raise EngineCrashError if the process has failed."""
        if self._process is not None and self._process.poll():
            raise self._ended()

    def sent(self) -> Sent:
        """Wait for the last row and return the report of sent events; the folder then has each stream's send times."""
        self._expect("done")
        sent_ns = self._sent_ns()
        lags = sent_ns - np.concatenate(self._load.due_ns)
        deadline_ns = self._load.end_ns + SHORTEST_SLEEP_S * 1e9 + PUNCTUAL_NS
        events = int(np.count_nonzero(sent_ns <= deadline_ns))
        return Sent(events=events, lag=histogram(lags, _LAG), own_thread=True)

    def emitted(self, steps: int) -> IntArray:
        """Return how many events were sent in each step of the run's progress; call `sent` first."""
        return counts_by_step(self._sent_ns(), steps)

    def close(self) -> None:
        """End the process and delete its topics. May be called twice."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        process.kill()
        process.wait()
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        delete_topics_of(self._address, self._prefix)

    def _sent_ns(self) -> IntArray:
        files = (self._folder / f"{index}.sent_ns" for index in range(len(self.topics)))
        return np.concatenate([np.fromfile(path, dtype=np.int64) for path in files])

    def _expect(self, word: str) -> None:
        assert self._process is not None and self._process.stdout is not None
        if self._process.stdout.readline().strip() != word:
            raise self._ended()

    def _ended(self) -> EngineCrashError:
        assert self._process is not None
        code = self._process.wait(CLOSE_GRACE_S)
        if code < 0:
            return EngineCrashError(
                f"the load's generator was ended by signal {-code}; if the machine lacks memory, offer "
                "fewer events"
            )
        return EngineCrashError(
            f"the load's generator ended with code {code}: the broker at {self._address} took no more "
            "records; see the trial's log and `lab broker status`"
        )


class _Part:
    """The rows of a partition that are not yet sent."""

    def __init__(self, topic: Topic, partition: int, rows: Rows) -> None:
        self._topic = topic
        self.partition = partition
        self._rows = rows
        self._due = np.ascontiguousarray(rows["due_ns"])
        self._next = 0
        self._promise = int(NO_PROMISE)

    def next_due(self) -> int:
        """Return when the next row is due; `sys.maxsize` if none is left."""
        if self._next == len(self._due):
            return sys.maxsize
        return int(self._due[self._next])

    def due(self, now_ns: int, promise: int) -> list[tuple[bytes, Rows]]:
        """Take the rows that are due, and return them as records, each with its rows.

        If no row is due but the promise is new (see `HEADER` in records.py), return one record without rows.
        """
        end = int(np.searchsorted(self._due, now_ns, side="right"))
        records = []
        while self._next < end:
            block_end = min(self._next + MAX_ROWS, end)
            rows = self._rows[self._next : block_end]
            row_promise = promise if block_end == end else self._promise
            records.append((self._topic.encode(rows, promise=row_promise), rows))
            self._next = block_end
        if not records and promise != self._promise:
            no_rows = self._rows[:0]
            records.append((self._topic.encode(no_rows, promise=promise), no_rows))
        self._promise = promise
        return records


class _Offer:
    """Sends the rows and heartbeats of all streams."""

    def __init__(self, job: _Job) -> None:
        self._job = job
        self._error: object = None
        self._producer = client().Producer(
            {
                **connection(job.address),
                "linger.ms": 0,
                "socket.nagle.disable": True,
                # The broker stores a record once even if it is sent twice, and stores no record that follows a lost
                # record.
                "enable.idempotence": True,
                "enable.gapless.guarantee": True,
                "message.timeout.ms": int(TIMEOUT_S * 1000),
                "queue.buffering.max.messages": 10_000_000,
                "queue.buffering.max.kbytes": (1 << 31) - 1,
            }
        )
        self._parts = [
            [_Part(topic, place, part) for place, part in enumerate(split(topic, rows))]
            for topic, rows in zip(job.topics, map(self._rows, range(len(job.topics))), strict=True)
        ]
        self._sent_ns = [np.zeros(len(stream), dtype=np.int64) for stream in job.streams]

    def _rows(self, index: int) -> Rows:
        stream = self._job.streams[index]
        rows = rows_of(self._job.topics[index], stream, 0, len(stream))
        rows["due_ns"] = self._job.load.due_ns[index]
        return rows

    def run(self, start_ns: int) -> None:
        """Send everything when it is due, end the partitions, and write the send times of each stream to a file."""
        load = self._job.load
        while True:
            now_ns = time.monotonic_ns() - start_ns
            next_due_ns = sys.maxsize
            for index, parts in enumerate(self._parts):
                beats_due = load.heartbeat_due_ns[index]
                beats = int(np.searchsorted(beats_due, now_ns, side="right"))
                promise = int(load.heartbeat_ts[index][beats - 1]) if beats else int(NO_PROMISE)
                if beats < len(beats_due):
                    next_due_ns = min(next_due_ns, int(beats_due[beats]))
                for part in parts:
                    for record, rows in part.due(now_ns, promise):
                        self._send(index, part.partition, record)
                        self._sent_ns[index][rows["row"]] = time.monotonic_ns() - start_ns
                    next_due_ns = min(next_due_ns, part.next_due())
            self._producer.poll(0)
            if next_due_ns == sys.maxsize:
                break
            wait_s = (next_due_ns - (time.monotonic_ns() - start_ns)) / 1e9
            time.sleep(max(wait_s, SHORTEST_SLEEP_S))
        for index, parts in enumerate(self._parts):
            times = load.heartbeat_ts[index]
            last = int(times[-1]) if len(times) else int(NO_PROMISE)
            for part in parts:
                topic = self._job.topics[index]
                empty = np.empty(0, dtype=topic.row)
                self._send(index, part.partition, topic.encode(empty, promise=last, end=True))
        left = self._producer.flush(FLUSH_S)
        if self._error is not None or left:
            sys.exit(f"the broker took no more records: {self._error or f'{left} are left'}")
        for index, times in enumerate(self._sent_ns):
            times.tofile(self._job.folder / f"{index}.sent_ns")

    def _send(self, index: int, partition: int, record: bytes) -> None:
        if self._error is not None:
            sys.exit(f"the broker took no more records: {self._error}")
        name = self._job.topics[index].name
        try:
            self._producer.produce(name, record, partition=partition, on_delivery=self._delivered)
        except (
            client().KafkaException
        ) as error:  # The producer refuses all records after a lost one.
            sys.exit(f"the broker took no more records: {error.args[0]}")

    def _delivered(self, error: object, message: object) -> None:
        self._error = self._error or error


def main(path: str) -> None:
    """Offer the load of the job in a file."""
    job = pickle.loads(Path(path).read_bytes())
    offer = _Offer(job)
    # This thread sleeps most of the time; at ordinary priority it would wait for the workers' time slices.
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    print("ready", flush=True)
    offer.run(int(sys.stdin.readline()))
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
