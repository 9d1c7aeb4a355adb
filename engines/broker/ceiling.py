"""Warms up a broker before a run, and measures how many rows/s pass through it without an engine."""

import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from streamlab.engines.broker.generator import LoadGenerator, load_at_once
from streamlab.engines.broker.reader import SETTINGS
from streamlab.engines.broker.records import PARTITIONS, Topic
from streamlab.engines.broker.topics import check_reachable, client, consumer
from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import IntArray, new_topics
from streamlab.workloads.model import Stream

ROWS = 2_000_000
"""Number of rows in a measurement."""
TIMEOUT_S = 60.0
"""Limit of a warm-up or measurement."""
WARM_UP_S = 6
"""Length of the warm-up. While its JVM compiles, a new broker delays a load: by up to 0.6 s in the first second, by
50 ms in the fourth and by 15 ms from the sixth on. A load at full speed has too few records to warm the broker up.
"""
WARM_UP_EPS = 100_000
WARM_UP_BYTES = 36
"""Size of a row of the warm-up: the 28 bytes of a keyed row, and one column of eight bytes."""
_KEYS = 4096
_KEYED_COLUMNS = [("row", "<i8"), ("due_ns", "<i8"), ("ts", "<i8"), ("tag", "<i4")]
"""The columns of each row of a keyed stream: 28 bytes."""


def prepare_broker(address: str, topics: str = "") -> None:
    """Check that a broker answers, and offer it a load for WARM_UP_S.

    `topics` is the prefix in `Task.topics`; an empty prefix is replaced by a new one.

    Raises:
        EngineError: the broker does not answer within 10 s, reports an error, or takes more than TIMEOUT_S.
    """
    check_reachable(address)
    due_ns = np.arange(WARM_UP_S * WARM_UP_EPS) * (1_000_000_000 // WARM_UP_EPS)
    _pass_rows(address, WARM_UP_BYTES, due_ns, topics)


def broker_ceiling_eps(
    address: str, row_bytes: int, topics: str = "", *, rows: int = ROWS
) -> float:
    """Return how many rows/s pass from a load generator through a broker to a reader that only counts them.

    A row has `row_bytes` bytes, at least the 28 of a keyed row. For `topics` see `prepare_broker`.

    Raises:
        EngineError: the broker does not answer, reports an error, or takes more than TIMEOUT_S.
    """
    return rows / _pass_rows(address, row_bytes, np.zeros(rows, np.int64), topics)


def _pass_rows(address: str, row_bytes: int, due_ns: IntArray, topics: str) -> float:
    """Send rows through a broker when they are due; return how many seconds pass until a reader has all rows."""
    rows = len(due_ns)
    words, remainder = divmod(max(row_bytes - np.dtype(_KEYED_COLUMNS).itemsize, 0), 8)
    padding = [
        *((f"word_{i}", "<i8") for i in range(words)),
        *((f"byte_{i}", "i1") for i in range(remainder)),
    ]
    topic = Topic(
        name="",
        kinds=1,
        dataset=b"ceiling",
        stream=0,
        partitions=PARTITIONS,
        row=np.dtype([*_KEYED_COLUMNS, *padding]),
    )
    numbers = np.arange(rows)
    stream = Stream(
        name="ceiling",
        kinds=(0,),
        ts=numbers,
        tag=(numbers % _KEYS).astype(np.int32),
        payload={name: np.zeros(rows, dtype=kind) for name, kind in padding},
    )
    due_load = replace(load_at_once((stream,)), due_ns=(due_ns,))
    with (
        tempfile.TemporaryDirectory(prefix="broker-ceiling-") as folder,
        closing(
            LoadGenerator(
                address, (topic,), (stream,), due_load, Path(folder), topics or new_topics()
            )
        ) as load,
        closing(consumer(address, **SETTINGS)) as reader,
    ):
        (topic_copy,) = load.topics
        kafka = client()
        reader.assign(
            [kafka.TopicPartition(topic_copy.name, part, 0) for part in range(PARTITIONS)]
        )
        begin_ns = time.monotonic_ns()
        load.begin(begin_ns)
        remaining_rows = rows
        while remaining_rows:
            for message in reader.consume(1000, 0.1):
                decoded = None if message.error() else topic_copy.decode(message.value())
                if decoded is None:
                    raise EngineError(f"the broker at {address} gives no record: {message.error()}")
                remaining_rows -= len(decoded[1])
            load.check()
            took_s = (time.monotonic_ns() - begin_ns) / 1e9
            if took_s > TIMEOUT_S:
                raise EngineError(
                    f"the broker at {address} took more than {TIMEOUT_S:g} s for {rows:,} rows"
                )
        return took_s
