"""Provides the base class for engines that run hand-written queries over tables."""

from abc import abstractmethod
from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar

import numpy as np

from streamlab.engines.base import BatchEngine
from streamlab.engines.conditions import DECODING, FILE, MEMORY, READING, WHOLE, Conditions
from streamlab.engines.declared_queries import GENERATED
from streamlab.engines.errors import UnsupportedError
from streamlab.engines.protocol import Property, Task, Variant
from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.arrow import arrow_type
from streamlab.workloads.declarative.declaration import Declaration
from streamlab.workloads.model import ColumnType, DGSProgram, Program, Query, Workload, fields_read
from streamlab.workloads.model.operators.program import FLUSH


def memory_and_file(tables: str, *, label: str = "") -> tuple[Variant, Variant]:
    """Return the variants `memory` and `file`, named by where the input is when the clock starts.

    `tables` describes the tables in memory and their library, for users; `label` is the library's name.
    """
    return (
        Variant(
            name=MEMORY,
            summary=f"{tables}; the whole input at once",
            label=label,
            conditions=Conditions(unit=WHOLE, origin=MEMORY),
        ),
        Variant(
            name=FILE,
            summary="the same queries over the Parquet files, which are read inside the clock",
            label=label and f"{label}, from files",
            conditions=Conditions(unit=WHOLE, origin=FILE, also_timed=(READING, DECODING)),
        ),
    )


def modules_in(package: str) -> dict[str, str]:
    """Return the full names of a package's modules by short name, without importing them."""
    path = import_module(package).__path__
    return {module.name: f"{package}.{module.name}" for module in iter_modules(path)}


def no_events(task: Task) -> "pa.Table":
    """Return an empty Arrow table with all columns that the program reads.

    A stream has only the columns of its kinds, and an input may lack streams of a kind.
    """
    fields: dict[str, ColumnType] = {"ts": np.dtype(np.int64)}
    fields |= fields_read(task.workload.program)
    return pa.schema([(name, arrow_type(kind)) for name, kind in fields.items()]).empty_table()


class TableEngine(BatchEngine):
    """Answers each workload by a query over tables.

    An entry of `queries` is a function from the result of `tables` to a table: columns by name, in output order.
    Or the entry names such a function as `module:function`, or `module` for its function `answer`; the module and its
    library are imported on demand.
    A query may return a list of tables instead, each in an order of its own and with a column `src` (the stream of
    the event that made the row). The tables are merged by event time, then `src`, outside the clock.

    Attributes:
        one_kind: programs of these models run only on streams with one kind of event each. In a stream of several
            kinds, position orders events of equal time, and tables have no positions.
        flushes: whether the engine's queries close the windows that `task.dataset.until_ts` closes, see `Query.at_end`.
    """

    queries: ClassVar[Mapping[str, object]]
    known_variants: ClassVar[tuple[Variant, ...]] = memory_and_file("tables in memory")
    one_kind: ClassVar[tuple[type[Program], ...]] = (DGSProgram,)
    flushes: ClassVar[bool] = False

    @abstractmethod
    def tables(self, task: Task) -> Any:
        """Return the input as tables, with whatever else the query reads; not timed.

        In variant FILE the tables refer to unread files (`task.dataset.streams[i].paths`); else they are in memory.
        """

    def refused(self, task: Task) -> str | None:
        """Refuse streams of several kinds for the models in `one_kind`, and queries that flush their end."""
        program = task.workload.program
        flushes = self.flushes or task.variant == GENERATED
        if isinstance(program, Query) and program.at_end == FLUSH and not flushes:
            return (
                f'query {program.name} has at_end = "flush"; the queries of {self.name} leave windows '
                "open that the last event does not close; use reference, multicore, spark or flink"
            )
        if isinstance(program, self.one_kind):
            kinds = task.dataset.alphabet.kinds
            for stream in task.dataset.streams:
                if len(stream.kinds) > 1:
                    kind_names = " and ".join(kinds[kind] for kind in stream.kinds)
                    return (
                        f"stream {stream.name} carries {kind_names} events; {self.name} takes tables "
                        "of one kind each"
                    )
        return None

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return PIP1 to PIP3; PIP3 holds for generated queries only."""
        derivation = Property(
            holds=False, why="written for this workload, not derived from its program"
        )
        if variant == GENERATED:
            derivation = Property(holds=True, why="the query is generated from the declaration")
        independence = Property(holds=True, why="no worker and no partition is named")
        return {"PIP1": independence, "PIP2": independence, "PIP3": derivation}

    def generate(self, declaration: Declaration) -> str:
        """Return the text of the query for a declaration that `untranslatable` accepts.

        Raises:
            UnsupportedError: the engine translates no declarations.
        """
        raise UnsupportedError(
            f"engine {self.name} translates no declaration; its class must define generate() for the "
            f"variant {GENERATED}, or leave the variant out"
        )

    def query_text(self, workload: Workload, variant: str) -> str:
        """Return the text of the query for a workload, or the name of the function that has it."""
        if variant == GENERATED:
            return self.generate(workload.declaration)
        return str(self.queries[workload.name])

    def query(self, task: Task) -> Any:
        """Return the query of a task; not timed."""
        entry = self.queries[task.workload.name]
        if not isinstance(entry, str):
            return entry
        module, _, function = entry.partition(":")
        return getattr(import_module(module), function or "answer")

    def load(self, task: Task) -> Any:
        """Return the query and the tables."""
        return self.query(task), self.tables(task)

    def compute(self, task: Task, data: Any) -> Any:
        """Run the query to its end."""
        query, tables = data
        return query(tables)

    def columns(self, task: Task, answer: Any) -> Mapping[str, object]:
        """Return the answer, merged where there are several tables."""
        if not isinstance(answer, list):
            return super().columns(task, answer)
        names = task.workload.program.output.names or ()
        rows = {name: np.concatenate([part[name] for part in answer]) for name in {*names, "src"}}
        order = np.lexsort((rows["src"], rows["ts"]))
        return {name: rows[name][order] for name in names}

    def plan(self, task: Task) -> str:
        """Describe the plan: the whole input at once, on how many threads, and whether the query is generated."""
        threads = "one thread" if task.workers == 1 else f"{task.workers} threads"
        plan = f"{self.name}: the whole input at once, {threads}"
        if task.variant == GENERATED:
            plan += f"; {self.generated_plan(task.workload.declaration)}"
        return plan
