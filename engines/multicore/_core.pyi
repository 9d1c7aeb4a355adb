"""
The multicore engine's C++ core. Use streamlab.engines.multicore.adapter instead of calling it directly.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


STEP_NS: int = 100000000

MAX_WORKERS: int = 256

class RunSettings:
    """Settings of every run; see core/run/run.h."""

    def __init__(self, *, workers: int, batch: int, ring_blocks: int, cores: Sequence[int], pinned: bool, core_count: int, load: tuple[int, int, bool, int, bool] | None, reserved_rows: int, measure: bool) -> None: ...

class Run:
    """
    A run of any family. It keeps its arrays alive.
    """

    def start(self) -> None:
        """Create the threads, which wait for `run`."""

    def run(self, poll: Callable | None = None) -> int:
        """Run to the end and return the duration in ns. Signals are handled meanwhile."""

    def start_ns(self) -> int:
        """Return the start time of the monotonic clock in ns, or 0 before the start."""

    def receive(self, stream: int, rows: int, heartbeats: int) -> None:
        """State how many rows and heartbeats of a stream have arrived."""

    def rows(self) -> int: ...

    def events(self) -> int: ...

    def emitted(self) -> int: ...

    def collect(self, columns: Sequence[int]) -> None:
        """Write all outputs to the addresses of one column for each field."""

    def counters(self) -> dict[str, int]: ...

    def latency(self) -> tuple[bytes, bytes]:
        """Return the used buckets as two int64 arrays in bytes: highest values in ns, counts."""

    def warm_up(self) -> tuple[bytes, bytes]: ...

    def service(self) -> tuple[bytes, bytes]: ...

    def lag(self) -> tuple[bytes, bytes]: ...

    def progress(self) -> list[list[int]]:
        """Return the columns emitted, consumed, outputs, p50, p99, max (ns), with an entry for each step of STEP_NS."""

CACHE_LINE: int = 128

ACROSS: int = -1

STATE_UNIT: int = 8

HANDOVERS: list = ['direct', 'ring']

class MessageRun(Run):
    def __init__(self, settings: RunSettings, *, max_outputs_per_event: int, itemsizes: Sequence[int], max_outputs_across: int = 0) -> None: ...

    def add_stream(self, ts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tag: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, payload: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)] | None], heartbeats: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], owner: int, due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, heartbeat_due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> int: ...

    def add_state_type(self, nbytes: int) -> None: ...

    def add_template(self, parent: Sequence[int], first: Sequence[int], second: Sequence[int], state_type: Sequence[int], fork: Sequence[int], join: Sequence[int], pred1: Sequence[Sequence[int]], pred2: Sequence[Sequence[int]]) -> int: ...

    def initialise(self, first_tree: int, count: int, initial: bytes, *, each: bool = False) -> None:
        """Set the same initial state for all trees, or with `each` the states in `initial`, one after the other."""

    def sync(self) -> tuple[bytes, bytes]: ...

    def add_trees(self, shape: int, nodes: Sequence[tuple[int, Sequence[tuple[int, int]], Sequence[tuple[int, Sequence[int], int]]]], count: int) -> int: ...

    def first_actor(self, tree: int) -> int: ...

    def place(self, trees: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], leaves: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], storage: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], stride: int) -> None: ...

    def add_crossing(self, trees: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], group_bytes: int, max_outputs: int, node: tuple[int, Sequence[tuple[int, int]], Sequence[tuple[int, Sequence[int], int]]], first_flow: int, first_tag: int) -> int: ...

    def route(self, stream: int, actors: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], tags: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def sent_to_others(self) -> list[int]:
        """Return, for each stream, the number of events that went to another worker."""

class DgsRun(Run):
    def __init__(self, settings: RunSettings, *, max_outputs_per_event: int, itemsizes: Sequence[int], max_outputs_across: int = 0, gather: bool = True, handover: str = 'direct', cuts: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None = None, adaptive: bool = False, checkpoints: bool = True) -> None: ...

    def add_stream(self, ts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tag: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, payload: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)] | None], heartbeats: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], owner: int, due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, heartbeat_due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> int: ...

    def add_state_type(self, nbytes: int) -> None: ...

    def add_template(self, parent: Sequence[int], first: Sequence[int], second: Sequence[int], state_type: Sequence[int], fork: Sequence[int], join: Sequence[int], pred1: Sequence[Sequence[int]], pred2: Sequence[Sequence[int]]) -> int: ...

    def initialise(self, first_tree: int, count: int, initial: bytes, *, each: bool = False) -> None:
        """Set the same initial state for all trees, or with `each` the states in `initial`, one after the other."""

    def sync(self) -> tuple[bytes, bytes]: ...

    def add_trees(self, shape: int, count: int) -> int: ...

    def add_mailbox(self, worker: int) -> int: ...

    def place(self, mailbox: int, trees: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], leaves: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], storage: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], stride: int) -> None: ...

    def add_crossing(self, trees: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], group_bytes: int, max_outputs: int) -> int: ...

    def join_crossing(self, mailbox: int, crossing: int) -> int: ...

    def add_lane(self, mailbox: int, stream: int, run: int, slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, state: int, order_tree: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, order_node: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, update: Sequence[int], across: Sequence[int] = []) -> None: ...

    def set_group_state(self, crossing: int, state: bytes) -> None: ...

    def group_state(self, crossing: int) -> bytes:
        """Return the group state, before or after the run."""

    def wait_snapshot(self) -> bool:
        """Wait for a snapshot. Return False if none will come."""

    def snapshot_cut(self) -> int: ...

    def snapshot_states(self, nbytes: int) -> bytes:
        """Return the states of all trees' roots, `nbytes` bytes each."""

    def snapshot_group_state(self, crossing: int) -> bytes: ...

    def snapshot_rows(self) -> int:
        """Return the number of outputs since the last snapshot."""

    def snapshot_outputs(self, columns: Sequence[int]) -> None:
        """Merge the outputs since the last snapshot, as `collect` does."""

    def free_snapshot(self) -> None: ...

    def close_snapshots(self, now: bool) -> None: ...

    def cuts_decided(self) -> int:
        """Return the number of cuts that mailboxes have reached. Any thread."""

    def request_change(self, from_cut: int) -> None:
        """
        Make the run stop at a cut from `from_cut` on. Only the snapshot thread calls it.
        """

    def snapshot_stops(self) -> bool: ...

    def remove_plan(self) -> bool:
        """Remove the plan at a snapshot that stops. Return False if the run has ended early."""

    def set_stream_owner(self, stream: int, owner: int) -> None:
        """Set the owner of a stream in a new plan."""

    def resume(self) -> None:
        """Continue the run with the new plan."""

    def snapshot_rest(self) -> None:
        """After the run, make the outputs since the last snapshot available."""

    def cancel(self) -> None:
        """End `run` early. Any thread."""

FARTHEST: int = 2305843009213693952

MAX_DOWNSTREAM: int = 256

WINDOW_TABLE_BYTES: int = 64

TUPLE_BUFFERS: list = ['order', 'scalegate']

class OperatorSpec:
    def __init__(self, *, name: str, advance: int, size: int, single: bool, inputs: int, entry_bytes: int, buckets: int, expire: int, max_outputs: int, emits_on_update: bool, keeps_time: bool = False, bag: bool = False, stored_fields: Sequence[int] = [], matches_stored: bool = False, match_by_left: int = 0, match_by_right: int = 0, emit_pairs: int = 0) -> None: ...

class OplusRun(Run):
    def __init__(self, settings: RunSettings, *, spec: OperatorSpec, max_instances: int, tuple_buffer: str, shared_nothing: bool, itemsizes: Sequence[int], end_watermark: int | None, link_rows: int | None = None, downstream: int = 0, map_instances: int = 0) -> None: ...

    def add_operator(self, spec: OperatorSpec, process: int, itemsizes: Sequence[int]) -> None: ...

    def add_stream(self, ts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)] | None], heartbeats: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], input: int, process: int, route: int, shapes: Sequence[tuple[int, bool]], due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, heartbeat_due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> int: ...

    def add_mapped_stream(self, ts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)] | None], heartbeats: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], input: int, process: int, map: int, carried: Sequence[tuple[int, int]], due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, heartbeat_due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> int: ...

    def map(self, owner: Sequence[int], op: int = 0) -> None: ...

    def reconfigure(self, instances: Sequence[int], owner: Sequence[int], op: int = 0) -> int: ...

    def await_switch(self, number: int, op: int = 0) -> tuple[int, int] | None: ...

    def snapshot(self) -> tuple[int, list[int], list[int], list[int], list[int], int] | None: ...

    def switches(self, op: int = 0) -> list[tuple[int, int, list[int], list[int], int, int]]: ...

    def load_steps(self) -> list[list[tuple[int, int]]]: ...

MAX_STREAMS: int = 256

MAX_UNIT_RECORDS: int = 65536

MAX_WINDOW: int = 65536

MAX_GROUPS: int = 16777216

KEY_STATES_BYTES: int = 128

SCHEDULERS: list = ['ct', 'lp', 'et', 'qst']

WORKLISTS: list = ['homed', 'hybrid', 'partitioned', 'shared']

REORDERINGS: list = ['nonblocking', 'lock']

SERIALS: list = ['source', 'operator']

UNIT_WINDOWS: int = 2

class OrderedRun(Run):
    def __init__(self, settings: RunSettings, *, window: int, scheduler: str, worklist: str, reordering: str, serials: str, window_ns: int, capacity: int, itemsizes: Sequence[int]) -> None: ...

    def add_stage(self, *, name: str, kind: str, process: int, partition: int, partitions: int, state_bytes: int, max_outputs: int, itemsizes: Sequence[int]) -> None: ...

    def add_stream(self, ts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], heartbeats: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, heartbeat_due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> int: ...

    def totals(self) -> list[tuple[int, int, int]]:
        """Return (records read, records forwarded, worker time in ns) of each operator."""

    def states(self, stage: int) -> list[bytes]:
        """After the run: the state of each partition, or the only state, to resume from."""

    def restore(self, stage: int, states: Sequence[bytes]) -> None:
        """Before the start."""

    def processing(self) -> tuple[bytes, bytes]: ...

DETERMINISMS: list = ['communication', 'operator', 'none']

CHANNELS: list = ['log', 'scalegate']

MERGE_UNITS: list = ['run', 'tuple']

DEALINGS: list = ['time', 'turn']


class LayersRun(Run):
    def __init__(self, settings: RunSettings, *, determinism: str, channels: str, merge_unit: str, dealing: str, channel_rows: int, itemsizes: Sequence[int]) -> None: ...

    def add_stage(self, *, name: str, kind: str, process: int, partition: int, partitions: int, state_bytes: int, max_outputs: int, itemsizes: Sequence[int]) -> None: ...

    @overload
    def add_stream(self, ts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], heartbeats: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, heartbeat_due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> int: ...

    @overload
    def add_stream(self, ts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)] | None], heartbeats: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], input: int, process: int, route: int, due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, heartbeat_due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> int: ...

    def set_operator(self, *, spec: OperatorSpec, owner: Sequence[int], itemsizes: Sequence[int], end_watermark: int | None) -> None: ...

JOIN_KINDS: list = ['adhoc', '1t', 'indexed']

JOIN_FORMS: list = ['tiles', 'tuples']

class JoinsRun(Run):
    def __init__(self, settings: RunSettings, *, kind: str, window: int, band: int, form: str, tuple_buffer: str) -> None: ...

    def add_stream(self, ts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Sequence[object], heartbeats: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, heartbeat_due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
        """Add the left input (x, y) first, then the right input (a, b, c, d)."""

class DataflowRun(Run):
    def __init__(self, settings: RunSettings, *, first: int, period: int, count: int, aligned: bool, link_rows: int) -> None:
        """Markers are at first, first + period, ..."""

    def add_vertex(self, *, name: str, kind: str, route: str, inputs: Sequence[int], degree: int, items: int, markers: int, start: int, start_bytes: int, entry_bytes: int, max_outputs: int, keeps_key: bool, is_answer: bool, keyed: bool, itemsizes: Sequence[int], fields: Sequence[str], order: Sequence[int], descending: Sequence[bool], initial_state: tuple[bytes, bytes] | None = None) -> None: ...

    def state(self, vertex: int) -> tuple[bytes, bytes]:
        """
        After the run, return the initial state of new keys and the entries of keys, to resume from.
        """

    def add_stream(self, ts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], heartbeats: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], vertex: int, due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, heartbeat_due: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> int: ...

STRUCTS: dict = ...

WINDOWS_AT: int = 8

NO_STAMP: int = -1

NO_WINDOW: int = -9223372036854775808

STORED_TUPLES_AT: int = 16

STORED_TUPLES_BYTES: int = 32

STATE_AT: int = 16

def try_generator(events: int, batch: int, rate_eps: float) -> tuple[int, tuple[bytes, bytes]]:
    """
    Hand events to a null engine, at a rate or (0) at once; returns duration in ns and send lags (see `Run.latency`).
    """

def core_to_core_ns(first: int, second: int, limit_ns: int) -> float:
    """
    Return the nanoseconds that a cache line takes from one core to another, or -1 if not measured within the limit.
    """

def bucket_value(index: int) -> int:
    """Return the highest latency in ns of a histogram bucket."""
