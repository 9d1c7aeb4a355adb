"""Labels groups so that Spark spreads them evenly, and stores a group's state between micro-batches."""

import pickle
from abc import abstractmethod
from collections.abc import Iterator
from itertools import count
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

PERIOD = 840
"""The least common multiple of 1 to 8."""
_MASK = 0xFFFFFFFF
_SEED = 42
"""The seed of Spark SQL's `hash`."""


def labels(groups: int) -> tuple[int, ...]:
    """Return one int32 label per group, so that Spark's hash partitioning spreads groups evenly over partitions.

    Spark puts a group into partition `hash(label) mod n`, with Murmur3. Small numbers collide: for two or four
    partitions, 0 and 1 go to the same partition. A label whose hash is i modulo 840 goes to partition i modulo n, for
    every n that divides 840. All n up to 8 do.
    """
    label_of_residue: dict[int, int] = {}
    residues = min(groups, PERIOD)
    for label in count():
        residue = murmur3(label) % PERIOD
        if residue < residues:
            label_of_residue.setdefault(residue, label)
        if len(label_of_residue) == residues:
            break
    # Groups beyond the period get any unused labels.
    unused = (label for label in count() if label not in set(label_of_residue.values()))
    return tuple(label_of_residue[i] if i < residues else next(unused) for i in range(groups))


def murmur3(value: int) -> int:
    """Return Spark SQL's `hash` of one int, signed 32-bit (Murmur3 x86-32, seed 42, one block)."""
    block = value * 0xCC9E2D51 & _MASK
    block = (block << 15 | block >> 17) & _MASK
    state = _SEED ^ (block * 0x1B873593 & _MASK)
    state = (state << 13 | state >> 19) & _MASK
    state = (state * 5 + 0xE6546B64 & _MASK) ^ 4
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


class ValueProcessor(StatefulProcessor):
    """Stores any value that can be pickled in Spark's state store."""

    @abstractmethod
    def process(
        self, key: tuple[Any, ...], rows: Iterator[pd.DataFrame], value: Any
    ) -> tuple[pd.DataFrame | None, Any]:
        """Process a group's rows of a micro-batch, in any order; return the output or None, and the value to store.

        `value` was stored after the previous micro-batch; it is None before the first.
        """

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._state = handle.getValueState("value", "value binary")

    def handleInputRows(  # type: ignore[override]  # always pandas here  # noqa: N802
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803 (Spark's names)
    ) -> Iterator[pd.DataFrame]:
        """Load a group's value, process its rows, and store the new value."""
        stored = self._state.get()
        output, value = self.process(key, rows, None if stored is None else pickle.loads(stored[0]))
        self._state.update((pickle.dumps(value, protocol=5),))
        if output is not None and len(output):
            yield output

    def close(self) -> None:
        """Do nothing: Spark owns the state."""
