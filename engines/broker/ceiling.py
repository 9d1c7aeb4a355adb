"""Measures how many rows a second pass a broker, without work on them: a trial's ceiling job."""

import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from streamlab.engines.broker.generator import LoadGenerator, at_once
from streamlab.engines.broker.reader import SETTINGS
from streamlab.engines.broker.records import PARTITIONS, Topic
from streamlab.engines.broker.topics import client, consumer
from streamlab.engines.errors import EngineError
from streamlab.workloads.model import Stream

ROWS = 2_000_000
TIMEOUT_S = 60.0
_KEYS = 4096
_PLACE = [("row", "<i8"), ("due_ns", "<i8"), ("ts", "<i8"), ("tag", "<i4")]
"""The columns that a row of any keyed stream has."""


def broker_ceiling_eps(address: str, row_bytes: int) -> float:
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
    rows = np.arange(ROWS)
    stream = Stream(
        name="ceiling",
        kinds=(0,),
        ts=rows,
        tag=(rows % _KEYS).astype(np.int32),
        payload={name: np.zeros(ROWS, dtype=kind) for name, kind in more},
    )
    with (
        tempfile.TemporaryDirectory(prefix="broker-ceiling-") as folder,
        closing(
            LoadGenerator(address, (topic,), (stream,), at_once((stream,)), Path(folder))
        ) as load,
        closing(consumer(address, **SETTINGS)) as reader,
    ):
        (sent,) = load.topics
        kafka = client()
        reader.assign([kafka.TopicPartition(sent.name, part, 0) for part in range(PARTITIONS)])
        begin_ns = time.monotonic_ns()
        load.begin(begin_ns)
        left = ROWS
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
                    f"the broker at {address} took more than {TIMEOUT_S:g} s for {ROWS:,} rows"
                )
        return ROWS / took_s
