"""Describes each workload for Flink (columns, answer, properties), and the options of a task."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from streamlab.engines.declared_queries import GENERATED
from streamlab.engines.event_files import Shape
from streamlab.engines.flink.generated import interval
from streamlab.engines.options import options_of
from streamlab.engines.protocol import Property, Task
from streamlab.workloads.model import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class FlinkShape(Shape):
    """Adds to `Shape` what only Flink's programs need.

    Attributes:
        keyed_state: whether the program of variant `automatic` stores its state in Flink's keyed state.
    """

    keyed_state: bool = True


SHAPES: Mapping[str, FlinkShape] = {
    "event_window": FlinkShape(values=("value", None), answer={"sum": "value"}),
    "page_view_join": FlinkShape(
        values=("user", "meta"),
        answer={"kind": "kind", "page": "key", "user": "value", "meta": "other"},
    ),
    "fraud_detection": FlinkShape(
        values=("value", "value"),
        answer={"kind": "kind", "value": "value"},
        keyed_state=False,
    ),
    "keyed_counter": FlinkShape(values=(None, None), answer={"key": "key", "count": "value"}),
    "wordcount": FlinkShape(
        values=(None,), items="words", answer={"word": "other", "count": "value"}, windows=True
    ),
    "paircount": FlinkShape(
        values=(None,), items="words", answer={"pair": "other", "count": "value"}, windows=True
    ),
    "longest_tweet_per_hashtag": FlinkShape(
        values=("chars",),
        items="hashtags",
        answer={"hashtag": "other", "chars": "value"},
        windows=True,
    ),
    "forward": FlinkShape(
        values=("value", "value"),
        key="id",
        answer={"id": "other", "value": "value"},
        keyed_state=False,
        delay_ms=1,
    ),
}

SQL = "sql"
"""The variant of queries written in Flink's SQL."""
SQL_QUERIES = {
    path.stem: path for path in sorted(Path(__file__).with_name("queries").glob("*.sql"))
}
"""The file of each workload's query in Flink's SQL. Queries of pipelines select the place of a row last."""
UPDATED = frozenset({"nexmark_q19"})
"""Workloads whose query emits new versions of earlier rows; the answer has the first version of each row."""
SQL_PARTS = tuple(sorted(Path(__file__).parent.glob("*.sql")))
"""Statements that several queries contain; a query refers to a file by its name in braces."""


def written_query(workload: Workload) -> str:
    """Return a workload's query with its parameters filled in: `{size_ms}` as a number, `{size}` as an interval."""
    text = SQL_QUERIES[workload.name].read_text(encoding="utf-8")
    for part in SQL_PARTS:
        text = text.replace(f"{{{part.stem}}}", part.read_text(encoding="utf-8").rstrip())
    values = workload.query_params
    lengths = {name: int(value) for name, value in values.items() if name.endswith("_ms")}
    if "slides" in values:
        lengths["size_ms"] = int(values["slides"]) * lengths["slide_ms"]
    intervals = {name.removesuffix("_ms"): interval(length) for name, length in lengths.items()}
    return text.format(**values, **intervals)


_SETTING = Property(holds=True, why="the parallelism is a setting of the job; no program names it")
_ONE_TASK = Property(holds=True, why="one task has all events")
_BY_HASH = Property(holds=True, why="Flink assigns keys to tasks by its own hash")
_CONTRACT = Property(holds=True, why="only the sink has side effects")
_PIP2 = {
    "event_window": Property(
        holds=True, why="barriers are broadcast; any task may process any value"
    ),
    "page_view_join": Property(
        holds=False,
        why="pages are labelled so that Flink's hash spreads them over tasks, as in the paper's "
        "programs; without labels two pages may share a task",
    ),
    "fraud_detection": _ONE_TASK,
    "forward": Property(holds=False, why="each task makes its share of the copies by its number"),
}
_MANUAL = {
    "PIP1": Property(holds=False, why="the service is built for a number of leaves"),
    "PIP2": Property(holds=False, why="leaves and roots are named by their task numbers"),
    "PIP3": Property(
        holds=False,
        why="tasks wait for each other in a service outside Flink; after a failure, states would "
        "be joined twice",
    ),
}


def properties(workload: str, variant: str) -> Mapping[str, Property]:
    """Return PIP1, PIP2 and PIP3 of a workload's program (DGS paper, section 4 and table 1)."""
    if variant == "manual":
        return _MANUAL
    if variant == "sequential":
        return dict.fromkeys(("PIP1", "PIP2", "PIP3"), _ONE_TASK)
    if variant == SQL:
        return {"PIP1": _SETTING, "PIP2": _BY_HASH, "PIP3": _CONTRACT}
    if variant == GENERATED:
        derived = Property(holds=True, why="the query is generated from the declaration")
        return {"PIP1": _SETTING, "PIP2": _BY_HASH, "PIP3": derived}
    return {"PIP1": _SETTING, "PIP2": _PIP2.get(workload, _BY_HASH), "PIP3": _CONTRACT}


LOAD_BUFFER_TIMEOUT_MS = 1
"""Under a load that does not fill buffers, Flink's default of 100 ms would become the latency."""

MANAGED_MEMORY_MB = 128

Natural = Annotated[int, Meta(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomaticOptions:
    """Options of variant `automatic` (docs/engines/flink.md).

    Attributes:
        broker: address of the broker that has the input; empty if the input is in memory.
        state: where Flink stores keyed state.
        buffer_timeout_ms: when Flink sends buffers that are not full. None for Flink's default of 100 ms, or
            LOAD_BUFFER_TIMEOUT_MS under a load.
        checkpoint_ms: interval of checkpoints; 0 for no checkpoints and no restarts.
        heap_mb: Java's heap; 0 to fit the input.
        jobmanager: address of a session cluster; None for a cluster in the trial's process.
        managed_memory_mb: Flink's managed memory.
        map_instances: tasks of a separate map stage; 0 if sources split their tweets themselves.
        warm_up_events: events of a warm-up round.
        warm_up_rounds: number of warm-up rounds.
    """

    broker: Annotated[str, Meta(min_length=1)] = ""

    state: Literal["heap", "rocksdb"] = "heap"
    buffer_timeout_ms: Annotated[int, Meta(ge=-1)] | None = None
    checkpoint_ms: Natural = 0
    heap_mb: Natural = 0
    jobmanager: str | None = None
    managed_memory_mb: Annotated[int, Meta(ge=16)] = MANAGED_MEMORY_MB
    map_instances: Natural = 0
    warm_up_events: Natural = 1_000_000
    warm_up_rounds: Natural = 2

    def __post_init__(self) -> None:
        if self.jobmanager is None:
            return
        host, _, port = self.jobmanager.rpartition(":")
        if not host or not port.isdecimal():
            raise ValueError(f"option jobmanager is {self.jobmanager!r}; it must be HOST:PORT")
        if self.heap_mb or self.managed_memory_mb != MANAGED_MEMORY_MB:
            raise ValueError(
                "a cluster's memory is set when its task managers start; remove options "
                "heap_mb and managed_memory_mb"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialOptions(AutomaticOptions):
    """Options of variant `sequential`."""

    def __post_init__(self) -> None:
        if self.state == "rocksdb" or self.map_instances:
            raise ValueError(
                "variant sequential of flink has one task with its state in fields; remove options "
                "state and map_instances"
            )
        AutomaticOptions.__post_init__(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualOptions(AutomaticOptions):
    """Options of variant `manual`.

    Attributes:
        service: how tasks call the fork-join service: by Java RMI, as in the paper, or in memory.
    """

    service: Literal["rmi", "memory"] = "rmi"

    def __post_init__(self) -> None:
        if self.map_instances:
            raise ValueError(
                "variant manual of flink has no map stage; remove option map_instances"
            )
        if self.jobmanager is not None or self.checkpoint_ms:
            raise ValueError(
                "tasks of variant manual of flink meet in a service in the trial's own process, which "
                "no checkpoint includes; remove options jobmanager and checkpoint_ms"
            )
        if self.state == "rocksdb":
            raise ValueError(
                "variant manual of flink stores its state in fields of tasks, as the paper's "
                "programs do; remove option state"
            )


_OPTIONS: Mapping[str, type[AutomaticOptions]] = {
    "manual": ManualOptions,
    "sequential": SequentialOptions,
}


def flink_options(task: Task) -> AutomaticOptions:
    """Return a task's options, with `buffer_timeout_ms` resolved."""
    options = options_of(task, _OPTIONS.get(task.variant, AutomaticOptions))
    if options.buffer_timeout_ms is not None:
        return options
    return replace(options, buffer_timeout_ms=100 if task.load is None else LOAD_BUFFER_TIMEOUT_MS)
