"""Adapts DuckDB to the engine protocol: one SQL query over the whole input."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamlab.engines.conditions import FILE
from streamlab.engines.environment import Environment
from streamlab.engines.protocol import Task
from streamlab.engines.tables import TableEngine, memory_and_file

HERE = Path(__file__).parent
QUERIES = {path.stem: path for path in sorted((HERE / "queries").glob("*.sql"))}
"""SQL file by workload."""

SO_FAR = ("items_viewed_together", "last_views_before_purchase")
"""Workloads whose query defines the view `partners`; `lists_so_far.sql` computes the lists from it."""


class DuckdbEngine(TableEngine):
    """Runs a workload as the SQL that a user would write."""

    name = "duckdb"
    known_variants = memory_and_file("tables in memory, on DuckDB's threads", label="DuckDB")
    queries = QUERIES
    most_workers = None
    packages = ("duckdb",)
    environment = Environment(lock=HERE / "requirements.txt")

    def query(self, task: Task) -> list[str]:
        """Return the statements of a workload's query; the last one creates the table `answer`."""
        name = task.workload.name
        files = [QUERIES[name], *([HERE / "lists_so_far.sql"] if name in SO_FAR else [])]
        query = "".join(path.read_text(encoding="utf-8") for path in files)
        *views, answer = query.split(";\n")
        return [*views, f"CREATE TABLE answer AS\n{answer}"]

    def tables(self, task: Task) -> Any:
        """Return a connection to an in-memory database with the tables, with one thread per worker."""
        from streamlab.engines.duckdb.tables import open_database

        return open_database(task, in_memory=task.variant != FILE)

    def compute(self, task: Task, data: Any) -> Any:
        """Run the query, which creates the sorted table `answer`; return the connection."""
        statements, connection = data
        for statement in statements:
            connection.execute(statement)
        return connection

    def columns(self, task: Task, answer: Any) -> Mapping[str, Any]:
        """Return the columns of the table `answer`."""
        columns: Mapping[str, Any] = answer.table("answer").fetchnumpy()
        return columns
