"""Reads the topics of a dataset into columns in memory, in a thread, while a run consumes the rows that have arrived.

Each row carries its number and is stored at this index. The run sees the rows before the first missing row.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from streamlab.engines.broker.records import NO_PROMISE, SILENCE_S, Topic, columns_of
from streamlab.engines.broker.topics import REMEDY, client, consumer
from streamlab.engines.errors import EngineCrashError
from streamlab.engines.protocol import IntArray
from streamlab.workloads.model import Stream

ABSENT = np.iinfo(np.int64).max
"""The time of a row that has not arrived; no event has it."""
SETTINGS: Mapping[str, object] = {
    "enable.partition.eof": False,
    "fetch.wait.max.ms": 10,
    "queued.max.messages.kbytes": 1 << 16,
    # When its queue was full, the client fetches nothing for this time. With the default of a second the run
    # would idle.
    "fetch.queue.backoff.ms": 10,
    "socket.nagle.disable": True,
    "socket.timeout.ms": 10_000,
}
"""Settings of Kafka's client."""
_MESSAGES = 256
"""Maximum number of records taken from the client's queue at once."""
_WAIT_S = 0.1
"""Maximum wait for a record, after which the thread checks whether the reader is closed."""

Receive = Callable[[int, int, int], object]
"""A callback that takes a stream's index, and how many of its rows and of its heartbeats have arrived."""


def clear(streams: Sequence[Stream]) -> None:
    """Overwrite all columns, so that the run cannot see a row before the broker has sent it."""
    for stream in streams:
        for name, column in columns_of(stream).items():
            column[:] = ABSENT if name == "ts" else np.zeros((), dtype=column.dtype)


class TopicReader:
    """Reads topics from their first record to the last."""

    def __init__(
        self,
        address: str,
        topics: Sequence[Topic],
        streams: Sequence[Stream],
        receive: Receive,
        *,
        heartbeats: Sequence[IntArray],
        is_sending: Callable[[], bool] = lambda: False,
        begin: Callable[[], object] = lambda: None,
    ) -> None:
        """Connect; reading begins with `start`.

        Args:
            address: the broker's `HOST:PORT`.
            topics: the topic of each stream.
            streams: the streams whose columns to fill; `clear` has overwritten them.
            receive: called after rows or heartbeats of a stream have arrived.
            heartbeats: the heartbeats of each stream.
            is_sending: returns whether a load still sends rows. After the load, a broker that owes rows and sends none
                for `SILENCE_S` counts as dead.
            begin: called by the thread just before it reads.
        """
        self._address = address
        self._receive = receive
        self._is_sending = is_sending
        self._begin = begin
        self._client_error: Any = None
        self._consumer = consumer(address, **SETTINGS, error_cb=self._store_client_error)
        self._states = {
            topic.name: _StreamState(topic, stream, beats)
            for topic, stream, beats in zip(topics, streams, heartbeats, strict=True)
        }
        self._error: Exception | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="broker-reader", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def check(self) -> None:
        """Raise EngineCrashError if reading has failed."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """End the thread and the connection. May be called twice."""
        self._closed.set()
        if self._thread.ident is not None:
            self._thread.join()
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def records(self) -> int:
        """Return the number of records that have been read."""
        return sum(state.records for state in self._states.values())

    def _store_client_error(self, error: Any) -> None:
        self._client_error = error

    def _run(self) -> None:
        try:
            self._read()
        except Exception as error:  # `check` raises it in the run's thread
            self._error = error

    def _read(self) -> None:
        kafka = client()
        states = self._states
        self._consumer.assign(
            [
                kafka.TopicPartition(state.topic.name, partition, 0)
                for state in states.values()
                for partition in range(state.topic.partitions)
            ]
        )
        self._begin()
        heard_s = time.monotonic()
        while not self._closed.is_set() and any(state.open for state in states.values()):
            # `consume` would wait for a full batch; records that have arrived must not wait for later ones.
            first = self._consumer.poll(_WAIT_S)
            if first is None:
                if self._is_sending():
                    heard_s = time.monotonic()
                elif time.monotonic() - heard_s > SILENCE_S:
                    raise self._silent()
                continue
            heard_s = time.monotonic()
            messages = [first, *self._consumer.consume(_MESSAGES, 0)]
            touched = set()
            for message in messages:
                if message.error() is not None:
                    raise self._failed(message)
                state = states[message.topic()]
                state.take(message)
                touched.add(state.topic.stream)
            for state in states.values():
                if state.topic.stream in touched:
                    self._receive(state.topic.stream, *state.advance())

    def _silent(self) -> EngineCrashError:
        rows = sum(state.arrived for state in self._states.values())
        total = sum(len(state.stream) for state in self._states.values())
        cause = f" ({self._client_error.str()})" if self._client_error is not None else ""
        return EngineCrashError(
            f"the broker at {self._address} sent nothing for {SILENCE_S:g} s{cause} after {rows:,} of "
            f"{total:,} rows; see `lab broker status` and its log, and start it again"
        )

    def _failed(self, message: Any) -> EngineCrashError:
        error = message.error()
        place = _place(message)
        return EngineCrashError(
            f"the broker at {self._address} cannot give {place}: {error.str()}; if it has deleted records, "
            f"{REMEDY}"
        )


class _StreamState:
    """Stores a stream's rows as they arrive, and the promises of its partitions (see `HEADER` in records.py)."""

    def __init__(self, topic: Topic, stream: Stream, heartbeats: IntArray) -> None:
        self.topic = topic
        self.stream = stream
        self._heartbeats = heartbeats
        self.arrived = self.records = 0
        self.open = topic.partitions
        self._columns = columns_of(stream)
        self._last = [-1] * topic.partitions
        self._promises = [int(NO_PROMISE)] * topic.partitions
        self._offsets = [0] * topic.partitions
        self._rows = 0

    def take(self, message: Any) -> None:
        """Store the rows of a record at their indices.

        Raises:
            EngineCrashError: the lab did not write the record, or rows are missing or come twice.
        """
        partition = message.partition()
        decoded = self.topic.decode(message.value() or b"")
        if decoded is None:
            raise EngineCrashError(
                f"{_place(message)} was not written by the lab for this dataset; keep other programs from "
                f"this topic, and {REMEDY}"
            )
        if message.offset() != self._offsets[partition]:
            raise EngineCrashError(
                f"{_place(message)} came where record {self._offsets[partition]} should; {REMEDY}"
            )
        self._offsets[partition] += 1
        self.records += 1
        header, rows = decoded
        if len(rows):
            numbers = rows["row"]
            first, last = int(numbers[0]), int(numbers[-1])
            if not self._last[partition] < first <= last < len(self.stream):
                raise EngineCrashError(
                    f"{_place(message)} has rows {first:,} to {last:,} after row {self._last[partition]:,}; "
                    f"{REMEDY}"
                )
            if last - first + 1 == len(rows):
                indices: Any = slice(first, last + 1)
            else:
                indices = numbers.copy()
            for name, column in self._columns.items():
                column[indices] = rows[name]
            self._last[partition] = last
            self.arrived += len(rows)
        self._promises[partition] = int(header["promise"])
        if header["end"]:
            self.open -= 1
            if not self.open and self.arrived != len(self.stream):
                raise EngineCrashError(
                    f"topic {self.topic.name} ended after {self.arrived:,} of {len(self.stream):,} rows; "
                    f"{REMEDY}"
                )

    def advance(self) -> tuple[int, int]:
        """Return how many rows have arrived without a gap, and how many heartbeats have arrived."""
        end = max(self._last) + 1
        missing = np.flatnonzero(self.stream.ts[self._rows : end] == ABSENT)
        self._rows = self._rows + int(missing[0]) if len(missing) else max(end, self._rows)
        promise = min(self._promises)
        return self._rows, int(np.searchsorted(self._heartbeats, promise, side="right"))


def _place(message: Any) -> str:
    return (
        f"record {message.offset()} in partition {message.partition()} of topic {message.topic()}"
    )
