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
        load: tuple[int, int, bool] | None = None,
        spare_core: bool = False,
        reserved_rows: int = 0,
        measure: bool = True,
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
        due: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None = None,
        heartbeat_due: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None = None,
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
    def latency(self) -> tuple[bytes, bytes]:
        """Used buckets as two int64 arrays in bytes: highest value in ns, count."""

    def warm_up(self) -> tuple[bytes, bytes]: ...
    def service(self) -> tuple[bytes, bytes]: ...
    def lag(self) -> tuple[bytes, bytes]: ...
    def emitted(self) -> int: ...
    def progress(self) -> list[list[int]]: ...
    def sync(self) -> tuple[bytes, bytes]: ...

class OperatorCore:
    def __init__(
        self,
        *,
        instances: int,
        most_instances: int,
        batch: int,
        ring_blocks: int,
        tuple_buffer: str,
        shared_nothing: bool,
        itemsizes: Sequence[int],
        cores: Sequence[int],
        oversubscribed: bool,
        load: tuple[int, int, bool] | None,
        spare_core: bool,
        reserved_rows: int,
        measure: bool,
        end_watermark: int | None,
        advance: int,
        size: int,
        single: bool,
        inputs: int,
        entry_bytes: int,
        buckets: int,
        expire: int,
        max_outputs: int,
        emits_on_update: bool,
        match_by_left: int,
        match_by_right: int,
        emit_pairs: int,
    ) -> None: ...
    def add_stream(
        self,
        ts: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        columns: Sequence[
            Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)] | None
        ],
        heartbeats: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        input: int,
        process: int,
        route: int,
        shapes: Sequence[tuple[int, bool]],
        due: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None = None,
        heartbeat_due: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None = None,
    ) -> int: ...
    def map(self, owner: Sequence[int]) -> None: ...
    def start(self) -> None: ...
    def run(self) -> int: ...
    def reconfigure(self, instances: int, owner: Sequence[int]) -> int: ...
    def await_switch(self, number: int) -> tuple[int, int] | None: ...
    def snapshot(self) -> tuple[int, int, list[int], list[int], list[int], int] | None: ...
    def switches(self) -> list[tuple[int, int, int, int, int, int]]: ...
    def load_steps(self) -> list[list[tuple[int, int]]]: ...
    def collect(self, columns: Sequence[int]) -> None: ...
    def counters(self) -> dict: ...
    def rows(self) -> int: ...
    def events(self) -> int: ...
    def emitted(self) -> int: ...
    def latency(self) -> tuple[bytes, bytes]: ...
    def warm_up(self) -> tuple[bytes, bytes]: ...
    def service(self) -> tuple[bytes, bytes]: ...
    def lag(self) -> tuple[bytes, bytes]: ...
    def progress(self) -> list[list[int]]: ...

class JoinCore:
    def __init__(
        self,
        *,
        kind: str,
        threads: int,
        window: int,
        band: int,
        batch: int,
        ring_blocks: int,
        cores: Sequence[int],
        oversubscribed: bool,
        load: tuple[int, int, bool] | None,
        spare_core: bool,
        reserved_rows: int,
        measure: bool,
    ) -> None: ...
    def add_stream(
        self,
        ts: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        columns: Sequence[object],
        heartbeats: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        due: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None = None,
        heartbeat_due: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None = None,
    ) -> None:
        """First x, y of the left input, then a, b, c, d of the right one."""

    def start(self) -> None: ...
    def run(self) -> int: ...
    def collect(self, columns: Sequence[int]) -> None: ...
    def counters(self) -> dict: ...
    def rows(self) -> int: ...
    def events(self) -> int: ...
    def emitted(self) -> int: ...
    def latency(self) -> tuple[bytes, bytes]: ...
    def warm_up(self) -> tuple[bytes, bytes]: ...
    def lag(self) -> tuple[bytes, bytes]: ...
    def progress(self) -> list[list[int]]: ...

STEP_NS: int = 100000000

def try_generator(events: int, batch: int, rate_eps: float) -> tuple[int, tuple[bytes, bytes]]:
    """
    Hand events to a null engine, at a rate or (0) at once; returns duration in ns and send lags (see `Core.latency`).
    """

def bucket_value(index: int) -> int:
    """Highest latency in ns of a histogram bucket."""
