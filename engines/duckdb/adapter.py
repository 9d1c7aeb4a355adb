"""The adapter of DuckDB: the whole input at once, as one SQL query."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamlab.engines.conditions import FILE
from streamlab.engines.environment import Environment
from streamlab.engines.protocol import Task
from streamlab.engines.tables import TableEngine, memory_and_file

HERE = Path(__file__).parent
QUERIES = {path.stem: path for path in sorted((HERE / "queries").glob("*.sql"))}
"""File by workload."""

SO_FAR = ("items_viewed_together", "last_views_before_purchase")
"""Workloads whose query makes the view `seen`, of which `lists_so_far.sql` makes the lists."""


class DuckdbEngine(TableEngine):
    """Runs a workload as the SQL that a user would write for it."""

    name = "duckdb"
    known_variants = memory_and_file("tables in memory, on DuckDB's threads")
    queries = QUERIES
    most_workers = None
    packages = ("duckdb",)
    environment = Environment(lock=HERE / "requirements.txt")

    def query(self, task: Task) -> list[str]:
        """Return the statements of a workload's query; the last one makes the table `answer`."""
        name = task.workload.name
        files = [QUERIES[name], *([HERE / "lists_so_far.sql"] if name in SO_FAR else [])]
        query = "".join(path.read_text(encoding="utf-8") for path in files)
        *views, answer = query.split(";\n")
        return [*views, f"CREATE TABLE answer AS\n{answer}"]

    def tables(self, task: Task) -> Any:
        """Return a database in memory with as many threads as workers, and the tables in it."""
        from streamlab.engines.duckdb.tables import opened

        return opened(task, in_memory=task.variant != FILE)

    def compute(self, task: Task, data: Any) -> Any:
        """Run the query to its end: a table of the answer, in order."""
        statements, connection = data
        for statement in statements:
            connection.execute(statement)
        return connection

    def columns(self, task: Task, answer: Any) -> Mapping[str, Any]:
        """Return the table of the answer."""
        columns: Mapping[str, Any] = answer.table("answer").fetchnumpy()
        return columns
