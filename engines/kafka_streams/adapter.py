"""Adapts Kafka Streams to the engine protocol: one topology in a Java process of the trial, fed by a broker."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from msgspec import Meta

from streamlab.engines import environment, event_files
from streamlab.engines.base import BaseEngine
from streamlab.engines.broker import broker
from streamlab.engines.broker.generator import LoadGenerator
from streamlab.engines.broker.records import Topic, topic_settings, topics_of
from streamlab.engines.broker.topics import delete_topics_of, write_topics
from streamlab.engines.command_process import JavaProcess
from streamlab.engines.conditions import BLOCK, BROKER, DECODING, READING, Conditions
from streamlab.engines.errors import EngineError, UnsupportedError
from streamlab.engines.event_files import Rows, Shape
from streamlab.engines.kafka_streams import query_rows
from streamlab.engines.kafka_streams.build import (
    ENVIRONMENT,
    MAIN,
    NAME,
    class_path,
    kafka_streams_version,
)
from streamlab.engines.options import options_of
from streamlab.engines.protocol import Measured, Property, Task, Variant
from streamlab.workloads.inputs.nexmark import schema as nexmark
from streamlab.workloads.model import Columns, DGSProgram, Input, ListColumn, Pipeline, Query
from streamlab.workloads.model.operators.program import arrival_tick_ns

OUTPUT_BYTES = 64
"""Memory per row of a program's answer in Java, with room for growth."""
QUERY_OUTPUT_BYTES = 160
"""Memory per row of a query's answer in Java; a row has up to 17 numbers."""
STATE_BYTES = 300
"""Memory per event that a query stores: up to two entries of a tree map, with byte arrays as keys and values."""

SHAPES: Mapping[str, Shape] = {
    "event_window": Shape(values=("value", None), answer={"sum": "value"}),
    "keyed_counter": Shape(values=(None, None), answer={"key": "key", "count": "value"}),
    "page_view_join": Shape(
        values=("user", "meta"),
        answer={"kind": "kind", "page": "key", "user": "value", "meta": "other"},
    ),
}

QUERIES = frozenset(f"nexmark_q{number}" for number in (*range(10), *range(11, 21)))
"""Workloads of variant `queries` (Queries.java)."""
QUERY = "queries"
"""The variant of Nexmark's queries."""
EVENT_COLUMNS = tuple(name for name in nexmark.FIELDS.names or () if name != "late_by")
"""The columns of an event, in the order of Queries.java."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaStreamsOptions:
    """Options of both variants (docs/brokers.md).

    Attributes:
        broker: address of the broker that has the input.
        heap_mb: Java's heap; 0 to fit the answer and the state of a query.
        warm_up_rounds: number of warm-up rounds at full speed.
    """

    broker: Annotated[str, Meta(min_length=1)] = ""
    heap_mb: Annotated[int, Meta(ge=0)] = 0
    warm_up_rounds: Annotated[int, Meta(ge=0)] = 1


class KafkaStreamsEngine(BaseEngine):
    """Runs a topology for each supported workload."""

    name: ClassVar[str] = NAME
    known_variants = (
        Variant(
            name="processor",
            summary="a topology of the Processor API with a state store, fed by a broker",
            label="Kafka Streams",
            models=(DGSProgram,),
            takes_load=True,
            conditions=Conditions(unit=BLOCK, origin=BROKER, also_timed=(READING, DECODING)),
            options=KafkaStreamsOptions,
        ),
        Variant(
            name=QUERY,
            summary="Nexmark's queries as steps with state stores and repartition topics, fed by a broker",
            label="Kafka Streams (queries)",
            models=(Pipeline, Query),
            takes_load=True,
            stamps_arrivals=True,
            conditions=Conditions(unit=BLOCK, origin=BROKER, also_timed=(READING, DECODING)),
            options=KafkaStreamsOptions,
            written_for=QUERIES,
        ),
    )
    queries: ClassVar = SHAPES
    max_workers = None
    environment = ENVIRONMENT

    def version(self) -> str:
        """Return the version of Kafka Streams."""
        return kafka_streams_version(environment.folder(self.name))

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return PIP1 to PIP3 (DGS paper, section 4)."""
        threads = Property(
            holds=True, why="the number of threads is a setting; no program names it"
        )
        keys = Property(holds=True, why="each partition has a task; Kafka's hash assigns the keys")
        sink = Property(holds=True, why="only the sink has side effects")
        return {"PIP1": threads, "PIP2": keys, "PIP3": sink}

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Raise EngineError, because each run measures the broker's ceiling."""
        raise EngineError(
            "kafka-streams gets its loads from a broker; `lab run` measures its ceiling"
        )

    def refused(self, task: Task) -> str | None:
        """Refuse tasks without a broker or without the broker's environment."""
        if not options_of(task, KafkaStreamsOptions).broker:
            return (
                "kafka-streams reads from a broker; start a broker with `lab broker up`, and set its "
                "address: --option kafka-streams.broker=HOST:PORT"
            )
        return environment.unusable_reason(broker.NAME, broker.ENVIRONMENT)

    def start(self, task: Task) -> "KafkaStreamsPrepared":
        """Write the topics if they are missing, start Java, and warm up on the same topics."""
        return KafkaStreamsPrepared(task, options_of(task, KafkaStreamsOptions))


class KafkaStreamsPrepared:
    """Controls a paused topology."""

    def __init__(self, task: Task, options: KafkaStreamsOptions) -> None:
        self._task = task
        self._broker = options.broker
        self._application = f"{task.topics}streams"
        self._data = data = task.dataset.load()
        if task.variant == QUERY:
            _require_natural_numbers(data)
        self._rows: Rows | None = None
        self._generator: LoadGenerator | None = None
        self._process: JavaProcess | None = None
        try:
            if task.load is None:
                topics = write_topics(options.broker, task.dataset, data)
            else:
                self._generator = LoadGenerator(
                    *(options.broker, topics_of(task.dataset), data.streams),
                    *(task.load, task.scratch, task.topics),
                )
                topics = self._generator.topics
            self._write_job(topics, options)
            heap_mb = options.heap_mb or _heap_mb(task)
            load = () if task.load is None else ("load",)
            self._process = JavaProcess(
                NAME,
                (
                    # A heap of fixed size, touched before the clock starts, and the same collector on every machine.
                    *(f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m", "-XX:+AlwaysPreTouch", "-XX:+UseG1GC"),
                    f"-Dlog4j2.configurationFile={broker.HERE / 'log4j2.properties'}",
                    f"-Djava.io.tmpdir={task.scratch}",
                    *("-cp", class_path(environment.folder(NAME)), MAIN, str(task.scratch), *load),
                ),
            )
            self._tasks = int(self._process.ready())
        except BaseException:
            self.close()
            raise

    def run(self) -> Measured:
        """Resume the topology and wait until all records are processed."""
        assert self._process is not None
        task = self._task
        plan = f"{task.workers} threads, {self._tasks} tasks; Java {self._process.java}"
        if self._generator is None:
            took_ns, events = self._process.ask("go")
            return Measured(events=events, plan=plan, counters={"in_java_ns": float(took_ns)})
        start_ns, (took_ns, _), sent = self._generator.drive(self._process, with_start=True)
        counters = {"in_java_ns": float(took_ns)}
        self._rows = rows = self._read(start_ns)
        by_time = rows["stream"] < 0
        measured = event_files.measure_load(task, self._data, rows, by_time, plan, counters)
        return replace(measured, sent=sent)

    def answer(self) -> Columns:
        """Return all rows, merged over tasks by the events that made them."""
        if self._rows is None:
            self._rows = self._read(0)
        if self._task.variant == QUERY:
            return query_rows.answer(self._task, self._rows)
        return event_files.answer(self._task, SHAPES[self._task.workload.name], self._rows)

    def close(self) -> None:
        """End the Java process and the load. May be called twice."""
        process, self._process = self._process, None
        if process is not None:
            process.close()
            # Kafka Streams leaves the repartition topics of a query.
            delete_topics_of(self._broker, self._application)
        if self._generator is not None:
            self._generator.close()

    def _read(self, start_ns: int) -> Rows:
        assert self._process is not None
        (parts,) = self._process.ask("answer")
        task, folder = self._task, self._task.scratch
        timed, is_query = task.load is not None, task.variant == QUERY
        if is_query:
            rows = query_rows.read_rows(task, self._data, folder, parts)
        else:
            rows = event_files.read_rows(folder, parts, timed=timed)
        if timed:
            event_files.count_from(start_ns, rows, folder, len(self._data.streams))
        if timed and is_query:
            query_rows.write_done(task, self._data, folder, parts, start_ns)
        return rows

    def _write_job(self, topics: Sequence[Topic], options: KafkaStreamsOptions) -> None:
        """Write job.properties (Job.java)."""
        task, data = self._task, self._data
        columns = EVENT_COLUMNS if task.variant == QUERY else ()
        values = (None,) if task.variant == QUERY else SHAPES[task.workload.name].values
        lines: dict[str, object] = {
            **task.workload.query_params,
            "application": self._application,
            "workload": task.workload.name,
            "workers": task.workers,
            "warm_up_rounds": options.warm_up_rounds if task.load is None else 0,
            **topic_settings(options.broker, topics, data, values, task.load),
            "columns": len(columns),
            "arrival_tick_ns": arrival_tick_ns(task.workload.program) or 0,
        }
        for index, topic in enumerate(topics):
            for number, name in enumerate(columns):
                offset, size = topic.byte_offset(name), topic.row[name].itemsize
                lines[f"column.{index}.{number}"] = 16 * offset + size
        event_files.write_properties(lines, task.scratch)


def _require_natural_numbers(data: Input) -> None:
    """Check that times are above 0 and numbers are not negative: State.java can order only such values.

    Raises:
        UnsupportedError: an event has such a time or number.
    """
    for stream in data.streams:
        columns = {name: stream.payload[name] for name in EVENT_COLUMNS}
        for name, values in {"ts": stream.ts - 1, **columns}.items():
            if not isinstance(values, ListColumn) and len(values) and values.min() < 0:
                raise UnsupportedError(
                    f"stream {stream.name}: column {name} has numbers below {int(name == 'ts')}, "
                    "and the stores of Kafka Streams cannot order them; import events without them"
                )


def _heap_mb(task: Task) -> int:
    """Return the size of Java's heap in MB, for the answer and the states of a query."""
    rows = task.expected_outputs or task.dataset.events
    if task.variant == QUERY:
        return 1024 + (QUERY_OUTPUT_BYTES * rows + STATE_BYTES * task.dataset.events >> 20)
    return 768 + (OUTPUT_BYTES * rows >> 20)
