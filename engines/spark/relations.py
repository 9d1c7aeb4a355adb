"""Defines the protocol between the adapter and programs that become one relation, in batch and streaming."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from streamlab.engines.spark.layout import Layout
from streamlab.workloads.model import Columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamlab.engines.spark.streaming.query import QueryResult


class Relations(Protocol):
    """A query of operators, a pipeline or a generic query, with all its settings but without the input."""

    def batch(self, session: "SparkSession", plan: Layout) -> Columns:
        """Return the output of the whole input."""

    def cut(self, plan: Layout, folder: Path, files: int) -> Any:
        """Split an input into `files` files for each of its parts; return the argument for `streaming`."""

    def streaming(
        self, session: "SparkSession", files: Any, folder: Path, checkpoint: Path
    ) -> "QueryResult":
        """Run the query until all files in the folder are processed."""
