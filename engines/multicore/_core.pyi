"""
The multicore engine's C++ core. Use engines.multicore.adapter instead of calling it directly.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray

class Core:
    def __init__(
        self,
        workers: int,
        batch: int,
        ring_blocks: int,
        max_outputs_per_event: int,
        output_itemsizes: Sequence[int],
        cores: Sequence[int],
        oversubscribed: bool,
    ) -> None: ...
    def add_stream(
        self,
        ts: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        tag: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
        payload: Sequence[
            Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)] | None
        ],
        heartbeats: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        owner: int,
    ) -> int: ...
    def add_state_type(self, nbytes: int) -> None: ...
    def add_template(
        self,
        parent: Sequence[int],
        first: Sequence[int],
        second: Sequence[int],
        state_type: Sequence[int],
        fork: Sequence[int],
        join: Sequence[int],
        pred1: Sequence[Sequence[int]],
        pred2: Sequence[Sequence[int]],
    ) -> int: ...
    def add_trees(self, shape: int, count: int) -> int: ...
    def add_mailbox(self, worker: int) -> int: ...
    def place(
        self,
        mailbox: int,
        trees: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        leaves: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        storage: int,
        stride: int,
    ) -> None: ...
    def initialise(self, first_tree: int, count: int, initial: bytes) -> None: ...
    def add_lane(
        self,
        mailbox: int,
        stream: int,
        run: int,
        slots: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
        state: int,
        order_tree: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
        order_node: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
        update: Sequence[int],
    ) -> None: ...
    def start(self) -> None: ...
    def run(self) -> int: ...
    def rows(self) -> int: ...
    def events(self) -> int: ...
    def collect(self, columns: Sequence[int]) -> None: ...
    def counters(self) -> dict: ...
    def latency_counts(self) -> list[int]: ...
    def sync_counts(self) -> list[int]: ...

def bucket_value(index: int) -> int:
    """Highest latency in ns of a histogram bucket."""
