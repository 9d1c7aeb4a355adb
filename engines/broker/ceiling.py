"""Measures how many rows a second pass a broker, without work on them: the limit of every engine behind it."""

import time
import uuid

import numpy as np

from streamlab.engines.broker.records import MOST_ROWS, PARTITIONS, Topic
from streamlab.engines.broker.topics import (
    check_answers,
    client,
    connection,
    consumer,
    create_topics,
    delete_topics,
)
from streamlab.engines.errors import EngineError

ROWS = 2_000_000
TIMEOUT_S = 60.0
_RECORDS_A_TURN = 64


def broker_ceiling_eps(address: str) -> float:
    """Return the rows/s that one process can write to a broker and read from it at the same time.

    A row has 32 bytes, as that of a stream with a value.

    Raises:
        EngineError: the broker does not answer, or takes longer than a minute.
    """
    check_answers(address)
    kafka = client()
    columns = ("row", "due_ns", "ts", "value")
    topic = Topic(
        name=f"lab.ceiling.{uuid.uuid4().hex[:16]}",
        kinds=1,
        dataset=b"ceiling",
        stream=0,
        partitions=PARTITIONS,
        row=np.dtype([(name, "<i8") for name in columns]),
    )
    record = topic.encode(np.zeros(MOST_ROWS, dtype=topic.row))
    create_topics(address, [topic])
    reader = consumer(address)
    producer = kafka.Producer({**connection(address), "linger.ms": 1})
    try:
        parts = [kafka.TopicPartition(topic.name, part, 0) for part in range(PARTITIONS)]
        reader.assign(parts)
        total, sent, read = ROWS // MOST_ROWS, 0, 0
        begin = time.monotonic()
        while read < total:
            for _ in range(min(_RECORDS_A_TURN, total - sent)):
                producer.produce(topic.name, record, partition=sent % PARTITIONS)
                sent += 1
            producer.poll(0)
            read += len(reader.consume(1000, 0 if sent < total else 0.001))
            if time.monotonic() - begin > TIMEOUT_S:
                raise EngineError(
                    f"the broker at {address} took more than {TIMEOUT_S:g} s for {ROWS:,} rows"
                )
        return ROWS / (time.monotonic() - begin)
    finally:
        producer.flush(TIMEOUT_S)
        reader.close()
        delete_topics(address, [topic.name])
