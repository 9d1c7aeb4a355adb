"""Writes a dataset's topics to a broker once, and checks existing topics.

`python -m streamlab.engines.broker.topics ADDRESS PREFIX` deletes the topics whose names begin with a prefix.
"""

import fcntl
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import numpy as np

from streamlab.engines import environment
from streamlab.engines.broker.broker import NAME, answers
from streamlab.engines.broker.records import (
    MAX_ROWS,
    NO_PROMISE,
    Rows,
    Topic,
    partition_of,
    rows_of,
    topics_of,
)
from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import IntArray
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Input, Stream

TIMEOUT_S = 30.0
"""Limit of each request to a broker."""
OWN_TOPICS = "lab."
"""Prefix of the names of all topics that the lab creates."""
METADATA_S = 10.0
"""Limit of the first request of a run, so that a wrong address ends the run soon."""
REMEDY = "delete the topic (on the lab's own broker: lab broker down, then up), and the next trial writes it again"
CHUNK_ROWS = 1 << 17
"""Number of rows that are split into partitions together."""
_POLL_S = 0.1
"""Interval between checks while the broker or the client is busy."""
_SETTINGS = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


def client() -> Any:
    """Return the module of Kafka's client, from the broker's environment."""
    environment.activate(NAME)
    return import_module("confluent_kafka")


def check_answers(address: str) -> None:
    """Raise EngineError if no broker answers."""
    if not answers(address):
        raise EngineError(
            f"no Kafka broker answers at {address!r}; option broker is HOST:PORT, and `lab broker up` "
            "starts one here"
        )


def check_reachable(address: str) -> None:
    """Check that a broker answers a metadata request, and that the addresses in its reply answer.

    Raises:
        EngineError: an address does not answer within 10 s.
    """
    kafka = client()
    admin = import_module("confluent_kafka.admin").AdminClient(connection(address))
    try:
        metadata = admin.list_topics(timeout=METADATA_S)
    except kafka.KafkaException as error:
        raise EngineError(
            f"no Kafka broker answers at {address!r} within {METADATA_S:g} s ({error.args[0].str()}); option broker "
            "is HOST:PORT, and `lab broker up` starts one here"
        ) from error
    listeners = [f"{broker.host}:{broker.port}" for broker in metadata.brokers.values()]
    silent = [listener for listener in listeners if not answers(listener)]
    if silent:
        raise EngineError(
            f"the broker at {address!r} names {', '.join(silent)} as its address, which does not answer from here; "
            "set its advertised.listeners to an address that does"
        )


def connection(address: str) -> dict[str, object]:
    """Return the settings of each client. The library's own log is off, because the lab reports errors."""
    return {"bootstrap.servers": address, "log_level": 0}


def consumer(address: str, **settings: object) -> Any:
    """Return a consumer without a group; `assign` sets the record at which it starts to read a partition."""
    return client().Consumer(
        {
            **connection(address),
            "group.id": "lab",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            **settings,
        }
    )


def write_topics(address: str, dataset: Dataset, data: Input) -> tuple[Topic, ...]:
    """Write the topics of a dataset unless they are complete, and return them.

    Trials that share the dataset's files take turns, so that no trial deletes a topic that another trial writes.

    Raises:
        EngineError: the broker does not answer or refuses, or a topic has lost rows.
    """
    check_answers(address)
    kafka = client()
    topics = topics_of(dataset)
    try:
        with _turn(dataset):
            _write_incomplete(kafka, address, topics, data)
    except kafka.KafkaException as error:
        raise EngineError(
            f"the broker at {address} cannot store the dataset: {error.args[0]}; see its log"
        ) from error
    return topics


@contextmanager
def _turn(dataset: Dataset) -> Iterator[None]:
    """Hold the lock of a dataset's folder during the block; the lock also ends with the process.

    Raises:
        OSError: the file system has no locks.
    """
    folder = os.open(dataset.streams[0].path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _write_incomplete(kafka: Any, address: str, topics: Sequence[Topic], data: Input) -> None:
    """Write the topics that are missing or whose writers have died before the end.

    Raises:
        KafkaException: the broker refuses.
    """
    admin = import_module("confluent_kafka.admin").AdminClient(connection(address))
    existing_topics = admin.list_topics(timeout=TIMEOUT_S).topics
    complete = {
        topic.name
        for topic in topics
        if topic.name in existing_topics and _is_complete(address, topic)
    }
    for topic, stream in zip(topics, data.streams, strict=True):
        if topic.name in complete:
            continue
        if topic.name in existing_topics:
            delete_topics(address, [topic.name])
        create_topics(address, [topic])
        _Writer(kafka, address, topic).write(stream)


def create_topics(address: str, topics: Sequence[Topic]) -> None:
    """Create topics.

    Raises:
        KafkaException: the broker refuses.
    """
    module = import_module("confluent_kafka.admin")
    admin = module.AdminClient(connection(address))
    kafka_topics = [
        module.NewTopic(topic.name, topic.partitions, replication_factor=-1, config=_SETTINGS)
        for topic in topics
    ]
    for future in admin.create_topics(kafka_topics, operation_timeout=TIMEOUT_S).values():
        future.result(TIMEOUT_S)


def delete_topics(address: str, names: list[str]) -> None:
    """Delete topics and wait until they are gone.

    Raises:
        EngineError: topics still exist after TIMEOUT_S.
    """
    admin = import_module("confluent_kafka.admin").AdminClient(connection(address))
    for future in admin.delete_topics(names, operation_timeout=TIMEOUT_S).values():
        future.result(TIMEOUT_S)
    deadline = time.monotonic() + TIMEOUT_S
    while set(names) & set(admin.list_topics(timeout=TIMEOUT_S).topics):
        if time.monotonic() > deadline:
            raise EngineError(
                f"the broker at {address} did not delete {', '.join(names)} within {TIMEOUT_S:g} s; see its log"
            )
        time.sleep(_POLL_S)


def delete_topics_of(address: str, prefix: str) -> None:
    """Delete the topics whose names begin with a prefix, if the broker still answers.

    Raises:
        ValueError: the prefix does not begin with OWN_TOPICS; the broker may have topics of other programs.
    """
    if not prefix.startswith(OWN_TOPICS):
        raise ValueError(f"the prefix of topics to delete is {prefix!r}; expected {OWN_TOPICS}...")
    if not answers(address):
        return
    with suppress(client().KafkaException, EngineError, TimeoutError):
        admin = import_module("confluent_kafka.admin").AdminClient(connection(address))
        names = [
            name for name in admin.list_topics(timeout=TIMEOUT_S).topics if name.startswith(prefix)
        ]
        if names:
            delete_topics(address, names)


def extents(reader: Any, topic: Topic) -> list[int]:
    """Return the number of records in each of a topic's partitions.

    Raises:
        EngineError: the broker has deleted the first records.
    """
    kafka, counts = client(), []
    for number in range(topic.partitions):
        part = kafka.TopicPartition(topic.name, number)
        low, high = reader.get_watermark_offsets(part, timeout=TIMEOUT_S)
        if low:
            raise EngineError(
                f"partition {number} of topic {topic.name} begins at record {low}: the broker has deleted "
                f"the records before it; {REMEDY}"
            )
        counts.append(high)
    return counts


def _is_complete(address: str, topic: Topic) -> bool:
    """Return whether each partition ends with the record that the lab writes last.

    Raises:
        EngineError: another program wrote to the topic, or records are lost.
    """
    kafka, reader = client(), consumer(address)
    try:
        metadata = reader.list_topics(topic.name, timeout=TIMEOUT_S).topics[topic.name]
        counts = extents(reader, topic) if len(metadata.partitions) == topic.partitions else [0]
        if not all(counts):
            return False
        for number, count in enumerate(counts):
            reader.assign([kafka.TopicPartition(topic.name, number, count - 1)])
            message = reader.poll(TIMEOUT_S)
            if message is None or message.error():
                why = "nothing came" if message is None else message.error().str()
                raise EngineError(
                    f"the broker at {address} cannot give the last record in partition {number} of topic "
                    f"{topic.name}: {why}; see its log"
                )
            decoded = topic.decode(message.value() or b"")
            if decoded is None:
                raise EngineError(
                    f"the last record in partition {number} of topic {topic.name} was not written by the "
                    f"lab for this dataset; stop other programs writing to this topic, and {REMEDY}"
                )
            if not decoded[0]["end"]:
                return False
        return True
    finally:
        reader.close()


class _Writer:
    """Writes a stream to its topic; each partition has its rows in order."""

    def __init__(self, kafka: Any, address: str, topic: Topic) -> None:
        self._topic = topic
        self._kafka = kafka
        self._error: Any = None
        self._producer = kafka.Producer(
            {
                **connection(address),
                "enable.idempotence": True,  # a record that is sent again is stored once
                "linger.ms": 5,
                "batch.size": 1 << 20,
                "message.timeout.ms": int(TIMEOUT_S * 1000),
            }
        )

    def write(self, stream: Stream) -> None:
        topic, rows = self._topic, len(stream)
        for begin in range(0, rows, CHUNK_ROWS):
            chunk = rows_of(topic, stream, begin, min(begin + CHUNK_ROWS, rows))
            for partition, part in enumerate(split(topic, chunk)):
                for first in range(0, len(part), MAX_ROWS):
                    block = part[first : first + MAX_ROWS]
                    following = part["ts"][first + MAX_ROWS : first + MAX_ROWS + 1]
                    promise = _promise(
                        stream.heartbeats, following if len(following) else block["ts"][-1:]
                    )
                    self._send(partition, topic.encode(block, promise=promise))
        for partition in range(topic.partitions):
            last = int(stream.heartbeats[-1]) if len(stream.heartbeats) else NO_PROMISE
            empty = np.empty(0, dtype=topic.row)
            self._send(partition, topic.encode(empty, promise=last, end=True))
        left = self._producer.flush(TIMEOUT_S)
        if self._error is not None or left:
            raise self._kafka.KafkaException(self._error or f"{left} records are not acknowledged")

    def _send(self, partition: int, record: bytes) -> None:
        if self._error is not None:
            raise self._kafka.KafkaException(self._error)
        while True:
            try:
                self._producer.produce(
                    self._topic.name, record, partition=partition, on_delivery=self._delivered
                )
            except BufferError:  # The producer's queue is full.
                self._producer.poll(_POLL_S)
                continue
            self._producer.poll(0)
            return

    def _delivered(self, error: Any, message: Any) -> None:
        self._error = self._error or error


def split(topic: Topic, rows: Rows) -> list[Rows]:
    """Return the rows of each partition, in order; rows without tags have key 0."""
    if topic.partitions == 1:
        return [rows]
    has_tags = "tag" in (topic.row.names or ())
    keys = (
        rows["tag"].astype(np.int64) // topic.kinds if has_tags else np.zeros(len(rows), np.int64)
    )
    partitions = partition_of(keys, topic.partitions)
    return [rows[partitions == partition] for partition in range(topic.partitions)]


def _promise(heartbeats: IntArray, next_times: IntArray) -> int:
    """Return the latest heartbeat before the first of `next_times`; NO_PROMISE if there is none."""
    count = int(np.searchsorted(heartbeats, next_times[0]))
    return int(heartbeats[count - 1]) if count else NO_PROMISE


if __name__ == "__main__":
    delete_topics_of(*sys.argv[1:])
