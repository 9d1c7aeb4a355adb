"""Provides a stateful operator in Python that stores one value per group between micro-batches."""

import pickle
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

STATE = "value binary"


class ValueProcessor(StatefulProcessor):
    """Stores any value that can be pickled in Spark's state store."""

    @abstractmethod
    def process(
        self, key: tuple[Any, ...], rows: Iterator[pd.DataFrame], value: Any
    ) -> tuple[pd.DataFrame | None, Any]:
        """Process a group's rows of a micro-batch.

        Args:
            key: the group's key.
            rows: the rows, in any order.
            value: the value stored after the previous micro-batch; None at first.

        Returns:
            The output or None, and the value to store.
        """

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._state = handle.getValueState("value", STATE)

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
