"""Maps the tuples of an operator O+ to tuples with one key each, outside a run of the core.

The counterpart in the core is `MapPart` (core/oplus/map_part.h), which calls the same kernel.
"""

import ctypes

import numba
import numpy as np
import numpy.typing as npt

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.kernels.memory import KEY_SET
from streamlab.engines.multicore.oplus import map_stage
from streamlab.engines.multicore.oplus.kernels import OperatorKernels, columns_of, layout_of
from streamlab.engines.multicore.run.core_run import crash_errors
from streamlab.workloads.model import ListColumn, Operator, Stream
from streamlab.workloads.model.streams.stream import IntArray

_KERNEL = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_void_p,
)


class TupleMap:
    """Maps tuples of one operator; `aggregate` is the operator that reads the mapped tuples."""

    def __init__(self, operator: Operator, *, bounds: bool) -> None:
        self._operator = operator
        self._kernels = OperatorKernels(operator, bounds=bounds)
        self.aggregate = map_stage.mapped_aggregate(operator)
        self._owners = np.zeros(operator.buckets, dtype=np.int32)

    def map(self, tuples: Stream) -> Stream:
        """Return, for each key of each tuple, a tuple with the key and the fields that f_U reads."""
        ends, keys = self._keys(tuples)
        rows = np.repeat(np.arange(len(tuples)), np.diff(ends, prepend=0))
        if not self._operator.bag and len(keys) > len(tuples):
            is_first = _first_of_tuple(ends, keys)
            rows, keys = rows[is_first], keys[is_first]
        fields = (self.aggregate.fields.names or ())[1:]
        payload = {}
        for name in fields:
            column = tuples.payload.get(name)
            if column is not None:
                assert not isinstance(column, ListColumn), "check_query refuses lists"
                payload[name] = column[rows]
        return Stream(
            name=tuples.name,
            kinds=tuples.kinds,
            ts=tuples.ts[rows],
            payload={map_stage.KEY: keys, **payload},
        )

    def _keys(self, tuples: Stream) -> tuple[IntArray, IntArray]:
        """Return int64[rows], the ends of the tuples' keys, and int64[keys], the keys of all tuples."""
        kernel = _KERNEL(self._kernels.map(layout_of(self._operator, tuples)))
        columns = [tuples.ts, *columns_of(self._operator, tuples)]
        columns = [None if column is None else np.ascontiguousarray(column) for column in columns]
        pointers = _pointers(columns)
        rows = np.arange(len(tuples))
        ends = np.zeros(len(tuples), dtype=np.int64)
        capacity = 2 * len(tuples)
        while True:
            # Keys without room go to the slot after the last.
            keys, hashes = (np.empty(capacity + 1, dtype=np.int64) for _ in range(2))
            buckets = np.empty(capacity + 1, dtype=np.int32)
            parts = _pointers([keys, buckets, hashes])
            key_set = np.zeros(len(_core.STRUCTS["KeySet"]), dtype=np.int64)
            key_set[KEY_SET.columns] = parts.ctypes.data
            key_set[KEY_SET.capacity] = capacity
            key_set[KEY_SET.owner] = self._owners.ctypes.data
            with crash_errors():
                position = kernel(
                    key_set.ctypes.data,
                    pointers.ctypes.data,
                    rows.ctypes.data,
                    len(rows),
                    ends.ctypes.data,
                )
                if position == 0:
                    raise RuntimeError("keys raised an exception")
            if position > len(rows):
                return ends, keys[: key_set[KEY_SET.count]]
            capacity *= 2


def _pointers(columns: list[npt.NDArray[np.generic] | None]) -> IntArray:
    return np.array([0 if c is None else c.ctypes.data for c in columns], dtype=np.int64)


@numba.njit(cache=True, nogil=True)
def _first_of_tuple(ends: IntArray, keys: IntArray) -> npt.NDArray[np.bool_]:
    """Return bool[keys]: whether no earlier key of the same tuple is equal."""
    is_first = np.ones(len(keys), dtype=np.bool_)
    begin = 0
    for end in ends:
        if end - begin > 32:
            # Sorting is stable, so the first of equal keys stays first.
            order = np.argsort(keys[begin:end], kind="mergesort")
            for index in range(1, len(order)):
                previous, current = begin + order[index - 1], begin + order[index]
                is_first[current] = keys[previous] != keys[current]
        else:
            for k in range(begin + 1, end):
                for earlier in range(begin, k):
                    if keys[earlier] == keys[k]:
                        is_first[k] = False
                        break
        begin = end
    return is_first
