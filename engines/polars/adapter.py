"""Adapts Polars to the engine protocol: one query over the whole input, on Polars' pool of threads.

Polars is a baseline of batch work, without heartbeats or latencies.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from streamlab.engines.conditions import FILE
from streamlab.engines.declared_queries import GENERATED, generated_variant
from streamlab.engines.environment import Environment
from streamlab.engines.polars.generated import generate
from streamlab.engines.protocol import Task
from streamlab.engines.tables import TableEngine, memory_and_file
from streamlab.workloads.declarative.declaration import Declaration

POOL = "POLARS_MAX_THREADS"
"""Environment variable that Polars reads once, when it is imported."""

_QUERIES = {
    "nexmark": tuple(f"nexmark_q{number}" for number in (*range(10), 11, *range(13, 21))),
    "operators": (
        "forward",
        "linear_road_new_seg",
        "linear_road_pos_rep",
        "longest_tweet_per_hashtag",
        "nyse_hedge",
        "paircount",
        "scale_join",
        "wordcount",
    ),
    "programs": ("event_window", "fraud_detection", "keyed_counter", "page_view_join"),
    "retail": (
        "cart_abandonment",
        "declining_categories",
        "items_sold_together",
        "items_viewed_together",
        "last_views_before_purchase",
    ),
}
"""The workloads of each module in `queries`; the module has a function with the workload's name."""


class PolarsEngine(TableEngine):
    """Runs a workload as the data-frame query that a user would write."""

    name = "polars"
    known_variants = (
        *memory_and_file("data frames in memory, on Polars' pool of threads", label="Polars"),
        generated_variant("Polars code", label="Polars"),
    )
    queries: ClassVar[Mapping[str, str]] = {
        name: f"streamlab.engines.polars.queries.{module}:{name}"
        for module, names in _QUERIES.items()
        for name in names
    }
    max_workers = None
    packages = ("polars",)
    environment = Environment(lock=Path(__file__).with_name("requirements.txt"))

    def refused(self, task: Task) -> str | None:
        """Refuse streams of several kinds, and more or fewer threads than Polars already uses in this process."""
        polars = sys.modules.get("polars")
        threads = task.workers if polars is None else int(polars.thread_pool_size())
        if threads != task.workers:
            return (
                f"polars already runs with {threads} threads in this process, not {task.workers}; "
                "use a new process"
            )
        return super().refused(task)

    def load(self, task: Task) -> Any:
        """Set the size of the pool before anything imports Polars."""
        os.environ[POOL] = str(task.workers)
        return super().load(task)

    def generate(self, declaration: Declaration) -> str:
        """Return Python source with a function `answer`."""
        return generate(declaration)

    def query(self, task: Task) -> Any:
        """Return the function of a workload."""
        if task.variant != GENERATED:
            return super().query(task)
        functions: dict[str, object] = {}
        source = self.generate(task.workload.declaration)
        exec(compile(source, f"<generated query {task.workload.name}>", "exec"), functions)
        return functions["answer"]

    def tables(self, task: Task) -> Any:
        """Return lazy tables over the files, or over memory."""
        from streamlab.engines.polars.tables import in_memory, scan

        tables = scan(task)
        return tables if task.variant == FILE else in_memory(tables)

    def compute(self, task: Task, data: Any) -> Any:
        """Run the query; return a data frame, or a data frame per partition of the outputs."""
        answer = super().compute(task, data)
        return answer.collect() if hasattr(answer, "collect") else answer
