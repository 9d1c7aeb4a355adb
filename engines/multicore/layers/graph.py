"""Provides the base class of query graphs: it creates the core and reports its counters and plan.

Source: Viper: communication-layer determinism and scaling in stream processing, sections 3 and 4.
Design: docs/decisions/0011-determinism-layers.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.layers.options import TIME, LayersOptions
from streamlab.engines.multicore.run.core_run import CoreRun
from streamlab.engines.multicore.run.results import histogram
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.protocol import Measured
from streamlab.workloads.model import Columns

HANDED_OVER = (
    "from when an injector handed over the input record that an output comes from, to within 64 "
    "records (of an operator O+ the last one that was read when its window emitted), until the "
    "output was at its sink; at full speed, so it is the time spent in channels"
)


class GraphRun(CoreRun, ABC):
    """Runs a query graph once. A subclass adds operators and streams to the core.

    Args:
        output: record type of the answer.
        settings: settings of the run; `ring_blocks` has an effect only under a load.
        options: options of the variant; None means the defaults.
    """

    _compares = False
    """Whether the operator is a join, which counts compared pairs."""

    def __init__(
        self, output: np.dtype[np.void], settings: RunSettings, options: LayersOptions | None
    ) -> None:
        super().__init__(output, settings)
        self._options = options or LayersOptions()

    def run(self) -> Measured:
        """Process the complete input; a failure raises EngineCrashError."""
        self._run_core()
        counters = self._counters()
        return self._build_measured(self._plan(counters), counters)

    def answer(self) -> Columns:
        """Return all outputs, ordered by time and sink; a late output of a sink stays in place."""
        return super().answer()

    def _make_core(self, itemsizes: list[int]) -> _core.LayersRun:
        """Return a core without operators; `itemsizes` are the field sizes of a pipeline's input."""
        return _core.LayersRun(
            self._settings.for_core(self._output, threads=0),
            determinism=self._options.determinism,
            channels=self._options.channels,
            merge_unit=self._options.merge_unit,
            dealing=self._options.dealing,
            channel_rows=self._options.channel_rows,
            itemsizes=itemsizes,
        )

    @abstractmethod
    def _operators_in_words(self) -> list[str]:
        """Return one text per operator, with its number of instances."""

    def _plan(self, counters: Mapping[str, float]) -> str:
        def plural(count: float, noun: str) -> str:
            return f"{count:.0f} {noun}" + ("" if count == 1 else "s")

        parts = [
            plural(counters["injectors"], "injector"),
            *self._operators_in_words(),
            plural(counters["sinks"], "sink"),
        ]
        turn = "" if self._options.dealing == TIME else "; dealt in turn"
        queues = plural(counters["queues"], "queue")
        channels = f"{queues} and {plural(counters['logs'], 'ordered log')}"
        return (
            f"{' -> '.join(parts)}; determinism: {self._options.determinism} "
            f"({self._options.in_words}{turn}); {plural(counters['threads'], 'thread')}, including "
            f"{plural(counters['mergers'], 'merge-sorting operator')}; {channels} of "
            f"{self._options.channel_rows} records per producer"
        )

    def _counters(self) -> dict[str, float]:
        counters = self._read_counters()
        if not self._compares:
            del counters["comparisons"]
        cpu_ns, merger_ns = counters.pop("cpu_ns"), counters.pop("merger_cpu_ns")
        events = self._open().events()
        return {
            **counters,
            "graph_cpu_s": cpu_ns / 1e9,
            # ns per tuple / 1e3 = s per million tuples.
            "graph_cpu_s_per_mtuple": cpu_ns / events / 1e3 if events else 0.0,
            "merger_cpu_share": merger_ns / cpu_ns if cpu_ns else 0.0,
            "switches_per_mtuple": (
                (counters["voluntary_switches"] + counters["involuntary_switches"]) / events * 1e6
                if events
                else 0.0
            ),
        }

    def _at_full_speed(self, core: Any) -> dict[str, Any]:
        return {"latency": histogram(core.latency(), HANDED_OVER)}
