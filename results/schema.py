"""The schema of `trials.parquet`: one row a trial, every column documented here.

The version is raised whenever a column changes its meaning or disappears; readers refuse versions
that they do not know. New columns that old readers may ignore do not raise it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 1

OK = "ok"
WRONG_OUTPUT = "wrong_output"
UNSUPPORTED = "unsupported"
TIMEOUT = "timeout"
CRASH = "crash"
OOM = "oom"
INVALID = "invalid"

STATUSES = {
    OK: "ran, and its answer equals the oracle's",
    WRONG_OUTPUT: "ran, but its answer differs from the oracle's; it has no number",
    UNSUPPORTED: "the engine cannot run this; `reason` says why",
    TIMEOUT: "was stopped, with all its processes, after the time limit",
    CRASH: "the engine or its process failed; `reason` has the last words of its log",
    OOM: "ran out of memory, or was killed by the system for lack of it",
    INVALID: "the answer is right but the measurement is not: events were not all accounted for",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: of the column, with its unit.
        type: `string`, `int64`, `float64`, or `bool`.
        about: what it holds and when it is null.
    """

    name: str
    type: str
    about: str


COLUMNS = (
    # What was run.
    Column(
        "cell", "string", "id of the cell: workload/engine/variant/w<workers>[/b<batch>][/label]"
    ),
    Column("workload", "string", "workload name"),
    Column("workload_label", "string", "tells apart several inputs of one workload; null for one"),
    Column("engine", "string", "engine name"),
    Column("variant", "string", "the engine's variant"),
    Column("workers", "int64", "degree of parallelism asked for"),
    Column("batch", "int64", "events per hand-over; null where the variant has no such notion"),
    Column("options", "string", "further engine options, JSON"),
    Column("repetition", "int64", "from 1; every repetition is a fresh process"),
    Column("attempt", "int64", "from 1; above it when earlier attempts were interrupted"),
    Column("order_index", "int64", "position in the run's interleaved order, from 0"),
    Column("started_at", "string", "UTC, ISO 8601"),
    # What came of it.
    Column("status", "string", "one of STATUSES"),
    Column(
        "reason", "string", "why there is no number, or what is doubtful about it; null if nothing"
    ),
    Column("events", "int64", "input events processed, as the engine counted them"),
    Column("outputs", "int64", "records in the answer"),
    Column("duration_s", "float64", "the timed part, by the lab's monotonic clock"),
    Column("throughput_eps", "float64", "catch-up rate: events / duration_s; null unless ok"),
    Column("outputs_eps", "float64", "outputs / duration_s; null unless ok"),
    Column("latency_p50_ns", "int64", "null without stamps or below 20 samples"),
    Column("latency_p90_ns", "int64", "null without stamps or below 100 samples"),
    Column("latency_p99_ns", "int64", "null without stamps or below 1,000 samples"),
    Column("latency_max_ns", "int64", "null without stamps"),
    Column("latency_count", "int64", "latency samples; null without stamps"),
    Column("latency_definition", "string", "from what to what the latency is measured"),
    Column("cpu_s", "float64", "user and system time of the process tree during the timed part"),
    Column("peak_rss_bytes", "int64", "peak of the process tree, preparation and timed part"),
    Column(
        "startup_s", "float64", "process start until the engine is imported and asked to prepare"
    ),
    Column(
        "prepare_s", "float64", "loading, compiling, starting and warming up; not in duration_s"
    ),
    Column("verify_s", "float64", "comparing the answer with the oracle's"),
    # The comparison with the oracle.
    Column("expected_outputs", "int64", "records in the oracle's answer"),
    Column("missing", "int64", "expected records that the answer lacks"),
    Column("duplicate", "int64", "records that the answer has too often"),
    Column("out_of_order", "int64", "records at a place that the dependence relation forbids"),
    Column("wrong", "int64", "records with wrong content"),
    Column("difference", "string", "the difference in words; null when there is none"),
    # How and where.
    Column("plan", "string", "the engine's plan in words; null where there is none"),
    Column("counters", "string", "engine-specific figures, JSON object of name_unit to number"),
    Column("properties", "string", "PIP1-3 as declared by the engine, JSON"),
    Column("oversubscribed", "bool", "workers exceed the cores that the process may use"),
    Column("dataset", "string", "content hash of the input"),
    Column("seed", "int64", "seed of the generator; null for imported input"),
    Column("engine_version", "string", "version that the engine reports"),
    Column("fingerprint", "string", "equal fingerprints may be compared; excludes the revision"),
    Column("returncode", "int64", "of the trial's process; negative: killed by that signal"),
    Column("log", "string", "log file, relative to the run directory"),
    Column("series", "string", "resource series, relative to the run directory; null if none"),
)

NAMES = frozenset(column.name for column in COLUMNS)


def arrow_schema() -> "pa.Schema":
    """Return the schema of `trials.parquet`, with version and documentation as metadata."""
    import pyarrow as pa

    types = {
        "string": pa.string(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
    }
    fields = [
        pa.field(column.name, types[column.type], metadata={"about": column.about})
        for column in COLUMNS
    ]
    return pa.schema(fields, metadata={"lab.schema_version": str(SCHEMA_VERSION)})
