"""A stateful operator in Python that keeps one value for each group between micro-batches."""

import pickle
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

STATE = "kept binary"


class KeptProcessor(StatefulProcessor):
    """Keeps any value that can be pickled, in Spark's state store."""

    @abstractmethod
    def process(
        self, key: tuple[Any, ...], rows: Iterator[pd.DataFrame], kept: Any
    ) -> tuple[pd.DataFrame | None, Any]:
        """Process a group's rows of a micro-batch.

        Args:
            key: of the group.
            rows: in any order.
            kept: after the micro-batch before; None at first.

        Returns:
            Output, None where there is none; and what is to be kept.
        """

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._state = handle.getValueState("kept", STATE)

    def handleInputRows(  # type: ignore[override]  # always pandas here  # noqa: N802
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803 (Spark's names)
    ) -> Iterator[pd.DataFrame]:
        """Process a group between loading and storing what it keeps."""
        stored = self._state.get()
        output, kept = self.process(key, rows, None if stored is None else pickle.loads(stored[0]))
        self._state.update((pickle.dumps(kept, protocol=5),))
        if output is not None and len(output):
            yield output

    def close(self) -> None:
        """Do nothing: Spark has the state."""
