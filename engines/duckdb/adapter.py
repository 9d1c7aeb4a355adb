"""Adapts DuckDB to the engine protocol: one SQL query over the whole input."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamlab.engines.conditions import FILE
from streamlab.engines.declared_queries import GENERATED, generated_variant
from streamlab.engines.duckdb.generated import generate
from streamlab.engines.environment import Environment
from streamlab.engines.protocol import Task
from streamlab.engines.tables import TableEngine, memory_and_file
from streamlab.workloads.declarative.declaration import Declaration
from streamlab.workloads.model import Workload

HERE = Path(__file__).parent
QUERIES = {path.stem: path for path in sorted((HERE / "queries").glob("*.sql"))}
"""The SQL file of each workload."""

RUNNING_LISTS = ("items_viewed_together", "last_views_before_purchase")
"""Workloads whose query defines the view `partners`; `lists_so_far.sql` computes the lists from it."""

WINNERS = ("nexmark_q4", "nexmark_q6", "nexmark_q9")
"""Workloads whose query reads the view `winning_bids`."""

STATISTICS = ("nexmark_q15", "nexmark_q16")
"""Workloads whose query reads the macro `statistics`."""


def _files(name: str) -> list[Path]:
    """Return the SQL files of a workload's query, in the order in which they run."""
    definitions = [HERE / "winning_bids.sql"] if name in WINNERS else []
    definitions += [HERE / "bidding_statistics.sql"] if name in STATISTICS else []
    lists = [HERE / "lists_so_far.sql"] if name in RUNNING_LISTS else []
    return [*definitions, QUERIES[name], *lists]


class DuckdbEngine(TableEngine):
    """Runs a workload as the SQL that a user would write."""

    name = "duckdb"
    known_variants = (
        *memory_and_file("tables in memory, on DuckDB's threads", label="DuckDB"),
        generated_variant("SQL", label="DuckDB"),
    )
    queries = QUERIES
    max_workers = None
    packages = ("duckdb",)
    environment = Environment(lock=HERE / "requirements.txt")

    def query(self, task: Task) -> list[str]:
        """Return the statements of a workload's query; the last one creates the table `answer`."""
        *views, answer = self.query_text(task.workload, task.variant).split(";\n")
        return [*views, f"CREATE TABLE answer AS\n{answer}"]

    def generate(self, declaration: Declaration) -> str:
        """Return the SQL of a declared workload."""
        return ";\n".join(generate(declaration))

    def query_text(self, workload: Workload, variant: str) -> str:
        """Return the SQL of a workload."""
        if variant == GENERATED:
            return super().query_text(workload, variant)
        return "".join(path.read_text(encoding="utf-8") for path in _files(workload.name))

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

    def columns(self, task: Task, answer: Any) -> Mapping[str, object]:
        """Return the columns of the table `answer`."""
        columns: Mapping[str, object] = answer.table("answer").fetchnumpy()
        return columns
