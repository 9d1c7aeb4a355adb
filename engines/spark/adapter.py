"""Adapts Spark to the engine protocol: Structured Streaming, and batch queries."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from streamlab.engines.base import BaseEngine
from streamlab.engines.clusters import ClusterPlan, ClusterState, Daemon
from streamlab.engines.protocol import Prepared, Property, Task, Variant
from streamlab.engines.spark import standalone
from streamlab.engines.spark.refusal import refusal
from streamlab.engines.spark.workloads import (
    BATCH,
    BATCH_ONLY,
    CACHED,
    COMPILED_STREAMING,
    GENERIC_BATCH,
    GENERIC_STREAMING,
    LACKING,
    NATIVE,
    NATIVE_STREAMING,
    WORKLOADS,
    SparkOptions,
    properties,
    streaming_conditions,
)
from streamlab.workloads.datasets.spark_session import spark_refusal
from streamlab.workloads.default_folders import cache_folder
from streamlab.workloads.model import DGSProgram, Pipeline, Query

_SPARK = Variant(name="", summary="", options=SparkOptions, baseline=2, colour=1)
_QUERY_VARIANT = replace(
    _SPARK,
    models=(DGSProgram, Query, Pipeline),
    lacking=LACKING,
    written_for=frozenset(WORKLOADS),
)


class SparkEngine(BaseEngine):
    """Runs programs of all models on Spark, in local mode or on a cluster.

    The first three variants run hand-written queries. The others run any program; generic-streaming is the default
    for workloads without a query.
    """

    name = "spark"
    packages = ("pyspark",)
    cluster_option = "master"
    known_variants = (
        replace(
            _QUERY_VARIANT,
            name="streaming",
            summary="Structured Streaming in micro-batches",
            label="Spark streaming",
            written_for=frozenset(WORKLOADS) - set(BATCH_ONLY),
            takes_load=True,
            conditions=streaming_conditions,
        ),
        replace(
            _QUERY_VARIANT,
            name="batch",
            summary="Spark SQL over the whole input",
            label="Spark SQL, from files",
            conditions=BATCH,
        ),
        replace(
            _QUERY_VARIANT,
            name="cached",
            summary="the batch queries over tables cached in Spark before the clock starts",
            label="Spark SQL, cached",
            conditions=CACHED,
        ),
        replace(
            _SPARK,
            name="generic-streaming",
            summary="the functions of any program, in stateful operators in Python",
            label="Spark streaming, in Python",
            conditions=GENERIC_STREAMING,
        ),
        replace(
            _SPARK,
            name="generic-batch",
            summary="the functions of any program, in groups over the whole input",
            label="Spark batch, in Python",
            conditions=GENERIC_BATCH,
        ),
        replace(
            _SPARK,
            name=NATIVE,
            summary="any program as compiled code on columns, in tasks over the whole input",
            label="Spark, compiled tasks",
            conditions=BATCH,
        ),
        replace(
            _SPARK,
            name=NATIVE_STREAMING,
            summary="any program as compiled code on columns, in a stateful operator",
            label="Spark streaming, compiled",
            conditions=COMPILED_STREAMING,
        ),
    )

    def unsupported(self, task: Task) -> str | None:
        """Return why a task cannot be run, or None."""
        return refusal(self, task) or spark_refusal()

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return the platform-independence properties."""
        return properties(workload, variant)

    def kept_folders(self) -> Sequence[Path]:
        """Return the lab's cache folder, which stores compiled functions of programs."""
        return (cache_folder(),)

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Measure how many events/s the process that moves files into place can hand over, in small files.

        This is a lower bound, because a move costs the same for larger files. `batch` has no effect.
        """
        if variant != "streaming":  # Other variants take no load.
            return None
        from streamlab.engines.spark.streaming.load_files import measure_ceiling

        return measure_ceiling()

    def start(self, task: Task) -> Prepared:
        """Start Spark, or reuse a running session, split the streams into files, and warm up on a prefix."""
        from streamlab.engines.spark.prepared import SparkPrepared

        return SparkPrepared(task)

    def cluster_daemons(self, plan: ClusterPlan) -> tuple[Daemon, ...]:
        """Return the master and the workers of a standalone cluster."""
        return standalone.daemons(plan)

    def cluster_address(self, plan: ClusterPlan) -> str:
        """Return the master's address."""
        return standalone.address(plan)

    def cluster_state(self, plan: ClusterPlan) -> ClusterState | None:
        """Return the state of a standalone cluster."""
        return standalone.state(plan)
