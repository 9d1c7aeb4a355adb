"""Prepares a broker for a run, and measures how many rows a second pass it without work on them."""

import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from streamlab.engines.broker.generator import LoadGenerator, load_at_once
from streamlab.engines.broker.reader import SETTINGS
from streamlab.engines.broker.records import PARTITIONS, Topic
from streamlab.engines.broker.topics import check_reachable, client, consumer
from streamlab.engines.errors import EngineError
from streamlab.workloads.model import Stream

ROWS = 2_000_000
TIMEOUT_S = 60.0
WARM_UP_ROWS = 250_000
MOST_WARM_UPS = 5
NO_FASTER = 1.1
"""A pass that is faster than the best so far by less than this is the last of the warm-up."""
_WARM_UP_BYTES = 36
_KEYS = 4096
_PLACE = [("row", "<i8"), ("due_ns", "<i8"), ("ts", "<i8"), ("tag", "<i4")]
"""The columns that a row of any keyed stream has."""


def prepare_broker(address: str) -> None:
    """Check that a broker answers, and send rows through it until that gets no faster: then its JVM is warm.

    Raises:
        EngineError: the broker does not answer within 10 s, fails, or takes longer than a minute.
    """
    check_reachable(address)
    best_eps = 0.0
    for _ in range(MOST_WARM_UPS):
        eps = broker_ceiling_eps(address, _WARM_UP_BYTES, rows=WARM_UP_ROWS)
        if eps < NO_FASTER * best_eps:
            return
        best_eps = eps


def broker_ceiling_eps(address: str, row_bytes: int, *, rows: int = ROWS) -> float:
    """Return the rows/s that the generator of a load sends through a broker to a reader that only counts them.

    A row has at least the 28 bytes of one with a key.

    Raises:
        EngineError: the broker does not answer, fails, or takes longer than a minute.
    """
    words, rest = divmod(max(row_bytes - np.dtype(_PLACE).itemsize, 0), 8)
    more = [
        *((f"word_{i}", "<i8") for i in range(words)),
        *((f"byte_{i}", "i1") for i in range(rest)),
    ]
    topic = Topic(
        name="",
        kinds=1,
        dataset=b"ceiling",
        stream=0,
        partitions=PARTITIONS,
        row=np.dtype([*_PLACE, *more]),
    )
    numbers = np.arange(rows)
    stream = Stream(
        name="ceiling",
        kinds=(0,),
        ts=numbers,
        tag=(numbers % _KEYS).astype(np.int32),
        payload={name: np.zeros(rows, dtype=kind) for name, kind in more},
    )
    with (
        tempfile.TemporaryDirectory(prefix="broker-ceiling-") as folder,
        closing(
            LoadGenerator(address, (topic,), (stream,), load_at_once((stream,)), Path(folder))
        ) as load,
        closing(consumer(address, **SETTINGS)) as reader,
    ):
        (sent,) = load.topics
        kafka = client()
        reader.assign([kafka.TopicPartition(sent.name, part, 0) for part in range(PARTITIONS)])
        begin_ns = time.monotonic_ns()
        load.begin(begin_ns)
        left = rows
        while left:
            for message in reader.consume(1000, 0.1):
                decoded = None if message.error() else sent.decode(message.value())
                if decoded is None:
                    raise EngineError(f"the broker at {address} gives no record: {message.error()}")
                left -= len(decoded[1])
            load.check()
            took_s = (time.monotonic_ns() - begin_ns) / 1e9
            if took_s > TIMEOUT_S:
                raise EngineError(
                    f"the broker at {address} took more than {TIMEOUT_S:g} s for {rows:,} rows"
                )
        return rows / took_s
