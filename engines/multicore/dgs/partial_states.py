"""Splits the work of DGS programs: tasks make partial states from parts of the input, and shares join them.

Events of *bulk* kinds do not depend on each other; events of all other kinds are *separators*. For each key and each
span between two separators, a task forks a state that gets only bulk events, and updates this state with its part of
the bulk events. The result is a *partial state*. A share later joins each partial state into the state of its key and
processes the separators, all in the total order.

By the model's consistency conditions the result equals the sequential run, if the state that `fork` makes for bulk
events is the same at any time as at the start. A share checks this condition for each partial state.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.dgs.kernels import LARGEST_COPIED_BYTES, Kernels, layout_of
from streamlab.engines.multicore.dgs.trees import initial_state_of
from streamlab.engines.multicore.dgs.wiring import payload_of
from streamlab.engines.multicore.kernels.memory import EMIT
from streamlab.engines.multicore.run.core_run import crash_errors
from streamlab.engines.work_split import NoPartialsError, WorkSplit
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Columns, DGSProgram, ForkJoin, StateType, Stream
from streamlab.workloads.model.streams.stream import IntArray

_POINTER, _WORD = ctypes.c_void_p, ctypes.c_int64
_RUN = ctypes.CFUNCTYPE(_WORD, _POINTER, _POINTER, _POINTER, _WORD, _WORD, _POINTER)
_FORK = ctypes.CFUNCTYPE(_WORD, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER)
_JOIN = ctypes.CFUNCTYPE(_WORD, _POINTER, _POINTER, _POINTER)

EVENTS_A_STATE = 256
"""Minimum mean number of bulk events in a partial state; below it, distributing the events costs less."""
ROWS_A_PIECE = 1 << 20
"""Estimated number of rows that a task distributes at once: a row group of a dataset."""
_EVENTS_A_CALL = 4096
"""Events that a kernel processes per call, because their outputs must have room."""
KEY, WORD = "state key", "state {}"
"""Columns of partial states. `ts` is the number of separators before the state, in the total order of all keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """The kinds that separate bulk events, and the fork and join of their partial states."""

    separators: frozenset[int]
    pair: ForkJoin

    def streams(self, dataset: Dataset) -> tuple[int, ...]:
        """Return the indices of the streams with separators."""
        streams = enumerate(dataset.streams)
        return tuple(src for src, stream in streams if self.separators.issuperset(stream.kinds))

    def pays(self, dataset: Dataset) -> bool:
        """Return whether partial states are few enough to cost less than events."""
        bulk = [s.rows for s in dataset.streams if self.separators.isdisjoint(s.kinds)]
        pieces = sum(-(-rows // ROWS_A_PIECE) for rows in bulk)
        states = pieces * dataset.alphabet.keys + (dataset.events - sum(bulk)) * len(bulk)
        return states * EVENTS_A_STATE <= sum(bulk)


def separation_of(program: DGSProgram, dataset: Dataset) -> Separation | None:
    """Return the separation of a program's kinds, or None if partial states are not possible."""
    if program.across or not (program.keyed or dataset.alphabet.keys == 1):
        return None
    rows = [0] * len(program.kinds)
    for stream in dataset.streams:
        for kind in stream.kinds:
            rows[kind] += stream.rows
    dependent = program.dependent_kinds()
    bulk: set[int] = set()
    for kind in sorted(range(len(rows)), key=lambda kind: -rows[kind]):
        if not any((kind, other) in dependent for other in {kind, *bulk}):
            bulk.add(kind)
    separators = frozenset(range(len(rows))) - bulk
    pair = next((pair for pair in program.parallel if _suits(program, pair, bulk)), None)
    mixed = any(
        separators.intersection(s.kinds) and bulk.intersection(s.kinds) for s in dataset.streams
    )
    if not bulk or not separators or pair is None or mixed:
        return None
    return Separation(separators=separators, pair=pair)


def _suits(program: DGSProgram, pair: ForkJoin, bulk: set[int]) -> bool:
    """Return whether a fork and join suit partial states of bulk kinds."""
    first, second = program.state(pair.first), program.state(pair.second)
    return (
        pair.parent == program.states[0].name
        and bulk.issubset(program.kinds_of(first) & program.kinds_of(second))
        and max(first.dtype.itemsize, second.dtype.itemsize) <= LARGEST_COPIED_BYTES
    )


class PartialStates(WorkSplit):
    """A DGS program split by key; shares read partial states and separators.

    Raises:
        EngineError: a function does not compile, or `init` raises.
    """

    form = "partial states"

    def __init__(
        self, program: DGSProgram, dataset: Dataset, separation: Separation, *, shares: int
    ) -> None:
        self.shares = min(shares, dataset.alphabet.keys)
        self.shared = separation.streams(dataset)
        self._program, self._keys = program, dataset.alphabet.keys
        self._kernels = Kernels(program, bounds=True)
        self._root, self._leaf = program.states[0], program.state(separation.pair.second)
        self._fork = _FORK(self._kernels.fork(separation.pair))
        self._join = _JOIN(self._kernels.join(separation.pair))
        self._bulk = np.array([k not in separation.separators for k in range(len(program.kinds))])
        self._first = _zeros(1, program.state(separation.pair.first))
        self._second = _zeros(1, self._leaf)
        # The arguments of fork after the state. They are stored because `ctypes.data` takes longer than the call.
        bulk, first, second = (a.ctypes.data for a in (self._bulk, self._first, self._second))
        self._parts = bulk, bulk, first, second
        initial = initial_state_of(program)
        self._initial = _zeros(1, self._root)
        self._initial.view(np.uint8)[0, : len(initial)] = np.frombuffer(initial, dtype=np.uint8)
        self._seed = self._fork_leaf(self._initial.ctypes.data)

    def distribute(self, src: int, rows: Stream, shared: Sequence[Stream]) -> Sequence[Stream]:
        """Return partial states of bulk events; all shares get all separators."""
        if src in self.shared:
            return [rows] * self.shares
        keys, numbers, states = self._partials(src, rows, self._merge(shared))
        shares = []
        for share in range(self.shares):
            indices = np.flatnonzero(keys % self.shares == share)
            words = {WORD.format(word): states[indices, word] for word in range(states.shape[1])}
            payload = {KEY: keys[indices], **words}
            shares.append(
                Stream(name=rows.name, kinds=rows.kinds[:1], ts=numbers[indices], payload=payload)
            )
        return shares

    def answer(self, share: int, streams: Sequence[Stream]) -> Columns:
        """Join the partial states and process the separators of the share's keys, in the total order."""
        return self.resume(share, streams, None, 0)[0]

    def resume(
        self, share: int, streams: Sequence[Stream], state: IntArray | None, until_ts: int
    ) -> tuple[Columns, IntArray]:
        """Process a part of the input from the states of the share's keys, stored as words."""
        separators = self._merge([streams[src] for src in self.shared])
        keys, numbers, leaves = _sorted_states(
            [stream for src, stream in enumerate(streams) if src not in self.shared]
        )
        indices = np.flatnonzero(separators.keys % self.shares == share)
        out = _Output(self._program, len(indices) + 1)
        steps = [self._run(self._root, stream, keyed=False) for stream in separators.streams]
        of_key = np.tile(self._initial, (self._keys, 1))
        if state is not None:
            of_key[share :: self.shares] = state
        root, size = of_key.ctypes.data, of_key.strides[0]
        leaf, leaf_size = leaves.ctypes.data, leaves.strides[0]
        joined_end = 0
        ends = np.searchsorted(numbers, indices, side="right")
        places = zip(
            ends.tolist(),
            separators.keys[indices].tolist(),
            separators.stream[indices].tolist(),
            separators.row[indices].tolist(),
            strict=True,
        )

        def add(begin: int, end: int) -> None:
            for index in range(begin, end):
                self._add(root + keys[index] * size, leaf + index * leaf_size)

        with crash_errors():
            for end, key, stream, row in places:
                add(joined_end, end)
                joined_end = end
                steps[stream](root + key * size, 0, row, row + 1, out)
            add(joined_end, len(keys))
        return out.columns(), of_key[share :: self.shares]

    def _add(self, state: int, leaf: int) -> None:
        """Join the partial state at address `leaf` into the state at address `state`."""
        if self._fork_leaf(state) != self._seed:
            raise NoPartialsError(
                f"program {self._program.name}: the state that fork gives a part for bulk events depends on "
                "earlier events, so partial states cannot be made in advance"
            )
        if not self._join(self._parts[2], leaf, state):
            raise RuntimeError("join raised an exception")

    def _fork_leaf(self, state: int) -> bytes:
        """Fork the state at an address; return the bytes of the part for bulk events."""
        if not self._fork(state, *self._parts):
            raise RuntimeError("fork raised an exception")
        return self._second.tobytes()

    def _merge(self, streams: Sequence[Stream]) -> "_Separators":
        return _Separators.merge(streams, self.shared, len(self._program.kinds))

    def _run(self, state: StateType, stream: Stream, *, keyed: bool) -> "_Step":
        """Return the step that updates states with events of a stream."""
        kernel = self._kernels.run(state, layout_of(self._program, stream), keyed=keyed)
        return _Step(_RUN(kernel), [stream.ts, stream.tag, *payload_of(stream, self._program)])

    def _partials(
        self, src: int, rows: Stream, separators: "_Separators"
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return the key, the number of earlier separators and the words of each partial state."""
        ends = separators.ends(src, rows)
        begin, end = np.searchsorted(ends, [0, len(rows) - 1], side="right").tolist()
        keys = np.concatenate([np.arange(self._keys), separators.keys[begin:end]])
        numbers = np.concatenate([np.full(self._keys, begin), np.arange(begin, end) + 1])
        seed = np.frombuffer(self._seed, dtype=np.int64)
        states = np.tile(seed, (len(keys), 1))
        kinds, words = len(self._program.kinds), states.shape[1]
        keyed = rows.tag is not None and self._keys > 1
        slots = np.repeat(np.arange(self._keys, dtype=np.int32) * words, kinds)
        step = self._run(self._leaf, rows, keyed=keyed)
        out = _Output(self._program, _EVENTS_A_CALL)
        bounds = [*ends[begin:end].tolist(), len(rows)]
        address, table = states.ctypes.data, slots.ctypes.data
        with crash_errors():
            step(address, table, 0, bounds[0], out)
            cut = zip(separators.keys[begin:end].tolist(), pairwise(bounds), strict=True)
            for slot, (key, (first, last)) in enumerate(cut, start=self._keys):
                slots[key * kinds : (key + 1) * kinds] = slot * words
                if not (keyed or key):  # All events are of key 0.
                    address = states.ctypes.data + slot * words * 8
                step(address, table, first, last, out)
        if out.rows:
            raise NoPartialsError(
                f"program {self._program.name}: events that do not depend on each other emit "
                "outputs, which may depend on earlier states"
            )
        nonempty = np.flatnonzero((states != seed).any(axis=1))
        return keys[nonempty], numbers[nonempty], states[nonempty]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Separators:
    """The separators of an input in the total order.

    Attributes:
        streams: the streams of separators.
        srcs: their indices in the input.
        stream: int64[m], index in `streams`.
        row: int64[m], row in the stream.
        keys: int64[m].
    """

    streams: tuple[Stream, ...]
    srcs: tuple[int, ...]
    stream: IntArray
    row: IntArray
    keys: IntArray

    @classmethod
    def merge(cls, streams: Sequence[Stream], srcs: tuple[int, ...], kinds: int) -> "_Separators":
        ts = np.concatenate([stream.ts for stream in streams])
        index = np.repeat(np.arange(len(streams)), [len(stream) for stream in streams])
        row = np.concatenate([np.arange(len(stream)) for stream in streams])
        keys = np.concatenate(
            [np.zeros(len(s), np.int64) if s.tag is None else s.tag // kinds for s in streams]
        )
        order = np.argsort(ts, kind="stable")
        return cls(
            streams=tuple(streams),
            srcs=srcs,
            stream=index[order],
            row=row[order],
            keys=keys[order].astype(np.int64),
        )

    def ends(self, src: int, rows: Stream) -> IntArray:
        """Return how many rows of stream `src` come before each separator in the total order."""
        ends = np.zeros(len(self.keys), dtype=np.int64)
        for index, (other, stream) in enumerate(zip(self.srcs, self.streams, strict=True)):
            side: Literal["left", "right"] = "right" if src < other else "left"
            ends[self.stream == index] = np.searchsorted(rows.ts, stream.ts, side=side)
        return ends


class _Step:
    """Calls the kernel that updates a state with events of one stream."""

    def __init__(self, kernel: Any, columns: Sequence[npt.NDArray[np.generic] | None]) -> None:
        self._kernel = kernel
        self._columns = [None if c is None else np.ascontiguousarray(c) for c in columns]
        self._pointers = _addresses(self._columns)
        self._address = self._pointers.ctypes.data

    def __call__(self, states: int, slots: int, begin: int, end: int, out: "_Output") -> None:
        while begin < end:
            begin = self._kernel(states, slots, self._address, begin, end, out.address)
            if not begin:
                raise RuntimeError("update raised an exception")
            if begin < end and out.is_full:
                return


class _Output:
    """Columns with room for the outputs of `events` events, and the core's `Emit` that describes them."""

    def __init__(self, program: DGSProgram, events: int) -> None:
        dtype, most = program.output, max(1, program.max_outputs_per_event)
        capacity = events * most
        self._limit = capacity - most
        self._columns = {name: np.empty(capacity, dtype[name]) for name in dtype.names or ()}
        self._pointers = _addresses(list(self._columns.values()))
        self._emit = np.zeros(len(_core.STRUCTS["Emit"]), dtype=np.int64)
        self._emit[EMIT.columns] = self._pointers.ctypes.data
        self._emit[EMIT.capacity] = capacity
        self.address = self._emit.ctypes.data

    @property
    def rows(self) -> int:
        """Number of outputs."""
        return int(self._emit[EMIT.count])

    @property
    def is_full(self) -> bool:
        """Whether the kernel may have no room."""
        return self.rows > self._limit

    def columns(self) -> Columns:
        """Return the outputs."""
        return {name: column[: self.rows] for name, column in self._columns.items()}


def _sorted_states(streams: Sequence[Stream]) -> tuple[list[int], IntArray, IntArray]:
    """Return the key, the number of earlier separators and the words of each partial state, in separator order."""
    numbers = np.concatenate([stream.ts for stream in streams])
    order = np.argsort(numbers, kind="stable")
    columns = [
        np.concatenate([stream.payload[name] for stream in streams])[order]
        for name in streams[0].payload
    ]
    return columns[0].tolist(), numbers[order], np.stack(columns[1:], axis=1)


def _zeros(rows: int, state: StateType) -> IntArray:
    """Return storage for states, in words."""
    return np.zeros((rows, -(-state.dtype.itemsize // 8)), dtype=np.int64)


def _addresses(columns: Sequence[npt.NDArray[np.generic] | None]) -> IntArray:
    return np.array([0 if c is None else c.ctypes.data for c in columns], dtype=np.int64)
