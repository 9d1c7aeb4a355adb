"""A base class for engines that have the input as tables, and a query for each workload."""

from abc import abstractmethod
from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from streamlab.engines.base import BatchEngine
from streamlab.engines.conditions import DECODING, FILE, MEMORY, READING, WHOLE, Conditions
from streamlab.engines.protocol import Property, Task, Variant
from streamlab.workloads.datasets.arrow import arrow_type
from streamlab.workloads.model import ColumnType, DGSProgram, Program, fields_read

if TYPE_CHECKING:
    import pyarrow as pa


def memory_and_file(tables: str) -> tuple[Variant, Variant]:
    """Return the variants `memory` and `file`: where the input is when the clock starts.

    Args:
        tables: what they are in memory and who works on them, for people.
    """
    return (
        Variant(
            name=MEMORY,
            summary=f"{tables}; the whole input at once",
            conditions=Conditions(unit=WHOLE, origin=MEMORY),
        ),
        Variant(
            name=FILE,
            summary="the same queries over the Parquet files, which are read inside the clock",
            conditions=Conditions(unit=WHOLE, origin=FILE, also_timed=(READING, DECODING)),
        ),
    )


def modules_in(package: str) -> dict[str, str]:
    """Return the modules of a package by their own names; imports none of them."""
    path = import_module(package).__path__
    return {module.name: f"{package}.{module.name}" for module in iter_modules(path)}


def no_events(task: Task) -> "pa.Table":
    """Return a table of no events in Arrow, with all columns that the program reads.

    A stream has those of its own kinds only, and of a kind there may be no stream.
    """
    import pyarrow as pa

    fields: dict[str, ColumnType] = {"ts": np.dtype(np.int64)}
    fields |= fields_read(task.workload.program)
    return pa.schema([(name, arrow_type(of)) for name, of in fields.items()]).empty_table()


class TableEngine(BatchEngine):
    """An engine that answers from tables, by a query that is written for each workload.

    An entry of `queries` takes what `tables` returned and returns a table: columns by name, in
    output order. Or it is the name of a module whose `answer` does so; this is imported when it is
    needed, and with it the library that it is written in. A list of tables, each in an order of its
    own and with a column `src` (the stream of the event that made a row), is merged by event time,
    then by `src`, after the clock has stopped.

    Attributes:
        one_kind: programs of these models are run on streams that carry one kind of event each. In
            another, events of equal time go by their position, which no table has.
    """

    queries: ClassVar[Mapping[str, Any]]
    known_variants: ClassVar[tuple[Variant, ...]] = memory_and_file("tables in memory")
    one_kind: ClassVar[tuple[type[Program], ...]] = (DGSProgram,)

    @abstractmethod
    def tables(self, task: Task) -> Any:
        """Return the input as tables, with what else the query reads; not timed.

        In memory; of variant FILE over the files (`task.dataset.streams[i].path`), unread.
        """

    def refused(self, task: Task) -> str | None:
        """Refuse a stream of several kinds where a user would have a table for each."""
        if isinstance(task.workload.program, self.one_kind):
            kinds = task.dataset.alphabet.kinds
            for stream in task.dataset.streams:
                if len(stream.kinds) > 1:
                    carried = " and ".join(kinds[kind] for kind in stream.kinds)
                    return (
                        f"stream {stream.name} carries {carried} events; {self.name} takes tables "
                        "of one kind each"
                    )
        return None

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return PIP1 to PIP3: nothing here is a program of events."""
        lost = Property(holds=False, why="written for this workload, not derived from its program")
        free = Property(holds=True, why="no worker and no partition is named")
        return {"PIP1": free, "PIP2": free, "PIP3": lost}

    def query(self, task: Task) -> Any:
        """Return the query of a task; not timed."""
        found = self.queries[task.workload.name]
        return import_module(found).answer if isinstance(found, str) else found

    def load(self, task: Task) -> Any:
        """Return the query and the tables."""
        return self.query(task), self.tables(task)

    def compute(self, task: Task, data: Any) -> Any:
        """Run the query to its end."""
        query, tables = data
        return query(tables)

    def columns(self, task: Task, answer: Any) -> Mapping[str, Any]:
        """Return the answer, merged where there are several tables."""
        if not isinstance(answer, list):
            return super().columns(task, answer)
        names = task.workload.program.output.names or ()
        whole = {name: np.concatenate([part[name] for part in answer]) for name in {*names, "src"}}
        order = np.lexsort((whole["src"], whole["ts"]))
        return {name: whole[name][order] for name in names}

    def plan(self, task: Task) -> str:
        """Say how much it takes at once, and on how many threads."""
        threads = "one thread" if task.workers == 1 else f"{task.workers} threads"
        return f"{self.name}: the whole input at once, {threads}"
