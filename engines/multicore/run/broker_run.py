"""Runs a program on input that arrives from a broker while it runs.

The run is set up on the dataset like any other run, and its columns are emptied before the clock starts. During the run
a thread reads the topics into these columns, and the core takes rows as they arrive.
"""

import threading
from collections.abc import Callable
from dataclasses import replace

from streamlab.engines import environment
from streamlab.engines.broker.broker import ENVIRONMENT, NAME
from streamlab.engines.broker.generator import LoadGenerator, load_at_once
from streamlab.engines.broker.reader import TopicReader, clear
from streamlab.engines.broker.records import list_column, topics_of
from streamlab.engines.broker.topics import write_topics
from streamlab.engines.multicore.run.core_run import CoreRun
from streamlab.engines.multicore.run.settings import LOAD_RING_BLOCKS, CommonOptions
from streamlab.engines.protocol import Measured, Task
from streamlab.workloads.model import Columns
from streamlab.workloads.model.operators.program import arrival_tick_ns

_POLL_S = 0.0001
"""Interval between checks whether the run has started; a load may start this much late."""


def refusal(task: Task) -> str | None:
    """Return why a task's input cannot come from a broker, or None."""
    if arrival_tick_ns(task.workload.program) is not None:
        return (
            f"{task.workload.name} has windows of arrival time, but records of a broker carry no arrival times; "
            "remove the option broker"
        )
    column = list_column(task.dataset)
    if column is not None:
        return f"column {column} holds lists, but records of a broker carry no lists; remove the option broker"
    return environment.unusable_reason(NAME, ENVIRONMENT)


class BrokerRun:
    """A run that reads its input from a broker."""

    def __init__(
        self,
        task: Task,
        options: CommonOptions,
        create: Callable[..., CoreRun],
    ) -> None:
        """Write the topics if they are missing, set up the run, and empty its columns.

        Raises:
            EngineError: the broker does not answer, or has lost a part of a topic.
        """
        data = task.dataset.load()
        load = task.load or load_at_once(data.streams)
        settings = replace(
            options.settings(task), load=load, received=True, ring_blocks=LOAD_RING_BLOCKS
        )
        self._closed = threading.Event()
        self._run: CoreRun | None = None
        self._generator: LoadGenerator | None = None
        self._reader: TopicReader | None = None
        try:
            if task.load is None:
                topics = write_topics(options.broker, task.dataset, data)
            else:
                self._generator = LoadGenerator(
                    *(options.broker, topics_of(task.dataset), data.streams),
                    *(load, task.scratch, task.topics),
                )
                topics = self._generator.topics
            self._run = create(task.workload.program, data, settings, options)
            clear(data.streams)
            self._reader = TopicReader(
                *(options.broker, topics, data.streams, self._run.receive),
                heartbeats=load.heartbeat_ts,
                is_sending=self._is_sending,
                begin=self._begin,
            )
        except BaseException:
            self.close()
            raise
        self._run.check_input = self._check

    def run(self) -> Measured:
        """Read and process the complete input.

        Raises:
            EngineCrashError: the broker or a thread of the run failed.
        """
        assert self._reader is not None and self._run is not None
        self._reader.start()
        measured = self._run.run()
        counters = {**measured.counters, "broker_records": float(self._reader.records())}
        if self._generator is not None:
            sent = self._generator.sent()
            progress = measured.progress
            if progress is not None:  # Records that wait in the broker are also backlog.
                emitted = self._generator.emitted(len(progress.emitted))
                progress = replace(progress, emitted=emitted)
            return replace(measured, counters=counters, sent=sent, progress=progress)
        # All events are due at once, so latencies have no meaning.
        return replace(
            measured,
            counters=counters,
            latency=None,
            warm_up_latency=None,
            service_latency=None,
            sent=None,
        )

    def answer(self) -> Columns:
        """Return all outputs; see `Prepared.answer`."""
        assert self._run is not None, "the run is closed"
        return self._run.answer()

    def close(self) -> None:
        """End the reader and the run. May be called twice."""
        self._closed.set()
        if self._reader is not None:
            self._reader.close()
        if self._generator is not None:
            self._generator.close()
        if self._run is not None:
            self._run.close()

    def _begin(self) -> None:
        """Wait until the run's clock starts, then start the load. Due times count from the start of the clock."""
        if self._generator is None:
            return
        assert self._run is not None
        while (start_ns := self._run.start_ns()) == 0:
            if self._closed.wait(_POLL_S):
                return
        self._generator.begin(start_ns)

    def _is_sending(self) -> bool:
        return self._generator is not None and self._generator.is_sending()

    def _check(self) -> None:
        assert self._reader is not None
        if self._generator is not None:
            self._generator.check()
        self._reader.check()
