"""The adapter of DuckDB: the whole input at once, as one SQL query."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engines.base import BatchEngine
from engines.conditions import DECODING, FILE, MEMORY, READING, WHOLE, Conditions
from engines.environment import Environment
from engines.protocol import Property, Task, Variant
from workloads.model import Columns

IN_MEMORY, FROM_FILE = "memory", "file"

CUT_BY_MARKERS = ("event_window", "fraud_detection", "keyed_counter", "page_view_join")
"""Workloads with bulk events and markers, which a user has in two tables."""

SO_FAR = ("items_viewed_together", "last_views_before_purchase")
"""Workloads whose query makes the view `seen`, of which `lists_so_far` makes the lists."""
_LISTS = "lists_so_far"

FOLDER = Path(__file__).with_name("queries")
QUERIES = {path.stem: path for path in sorted(FOLDER.glob("*.sql")) if path.stem != _LISTS}
"""File by workload."""

LACKING = {
    "parametric": "it multiplies matrices and chains words of a state record by record, which is "
    "made to cost time and is no query",
}
VARIANTS = (
    Variant(
        name=IN_MEMORY,
        summary="tables in memory, on DuckDB's threads; the whole input at once",
        lacking=LACKING,
        conditions=Conditions(unit=WHOLE, origin=MEMORY),
    ),
    Variant(
        name=FROM_FILE,
        summary="the same queries over the Parquet files, which are read inside the clock",
        lacking=LACKING,
        conditions=Conditions(unit=WHOLE, origin=FILE, also_timed=(READING, DECODING)),
    ),
)


class DuckdbEngine(BatchEngine):
    """Runs a workload as the SQL that a user would write for it."""

    name = "duckdb"
    known_variants = VARIANTS
    queries = QUERIES
    most_workers = None
    packages = ("duckdb",)
    environment = Environment(lock=Path(__file__).with_name("requirements.txt"))

    def refused(self, task: Task) -> str | None:
        """Return why a stream is no table."""
        mixed = [stream.name for stream in task.dataset.streams if len(stream.kinds) > 1]
        if mixed and task.workload.name in CUT_BY_MARKERS:
            return (
                f"stream {mixed[0]} carries bulk events and markers; duckdb takes tables of one "
                "kind each"
            )
        return None

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return PIP1 to PIP3: nothing here is a program of events."""
        lost = Property(holds=False, why="written for this workload, not derived from its program")
        free = Property(holds=True, why="no worker and no partition is named")
        return {"PIP1": free, "PIP2": free, "PIP3": lost}

    def load(self, task: Task) -> Any:
        """Open a database in memory with as many threads as workers, and its tables."""
        from engines.duckdb.tables import opened

        names = [task.workload.name, *([_LISTS] if task.workload.name in SO_FAR else [])]
        query = "".join((FOLDER / f"{name}.sql").read_text(encoding="utf-8") for name in names)
        *views, answer = query.split(";\n")
        statements = [*views, f"CREATE TABLE answer AS\n{answer}"]
        return statements, opened(task, in_memory=task.variant == IN_MEMORY)

    def compute(self, task: Task, data: Any) -> Any:
        """Run the query to its end: a table of the answer, in order."""
        statements, connection = data
        for statement in statements:
            connection.execute(statement)
        return connection

    def columns(self, task: Task, answer: Any) -> Columns:
        """Return the table of the answer."""
        names = task.workload.program.output.names or ()
        wanted = ", ".join(f'"{name}"' for name in names)
        columns: Columns = answer.execute(f"SELECT {wanted} FROM answer").fetchnumpy()
        return columns

    def plan(self, task: Task) -> str:
        """Say how many threads it had."""
        return f"duckdb: the whole input at once, {task.workers} threads"
