"""Defines the schema of `trials.parquet`: one row a trial; each column is documented here.

The version rises when a column changes its meaning, or when a column that readers need is removed.
Readers refuse unknown versions.
They ignore unknown columns and read missing ones as null, so optional columns need no new version.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 2

OK = "ok"
WRONG_OUTPUT = "wrong_output"
UNSUPPORTED = "unsupported"
TIMEOUT = "timeout"
CRASH = "crash"
OOM = "oom"
INVALID = "invalid"
UNSTEADY = "unsteady"
UNSUSTAINED = "unsustained"

STATUSES = {
    OK: "ran, and its answer equals the oracle's",
    WRONG_OUTPUT: "ran, but its answer differs from the oracle's; it has no numbers",
    UNSUPPORTED: "the engine cannot run this; `reason` says why",
    TIMEOUT: "the lab stopped it, with all its processes, after the time limit",
    CRASH: "the engine or its process failed; `reason` has the last words of its log",
    OOM: "ran out of memory, or the system killed it for lack of memory",
    INVALID: "not a valid measurement: events are unaccounted for, the lab's own clock or CPU "
    "account contradicts the trial's, outputs left before their inputs were due, the generator "
    "could not keep the offered rate, or the input is too short for the load",
    UNSTEADY: "offered load, right answer, but no steady state was reached; its numbers are shown "
    "with this verdict",
    UNSUSTAINED: "offered load, right answer, but the engine did not keep up with the rate; its "
    "numbers are shown with this verdict",
}

VERIFIED = frozenset({OK, UNSTEADY, UNSUSTAINED})
"""Statuses of trials with a right answer and a consistent clock: only these have numbers."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the schema.

    Attributes:
        name: the column's name, with its unit.
        type: `string`, `int64`, `float64` or `bool`.
        about: its content, and when it is null.
    """

    name: str
    type: str
    about: str


COLUMNS = (
    # The cell and the repetition.
    Column(
        "cell",
        "string",
        "id: workload/engine/variant/w<workers>[/b<batch>][/engine's label][/load's label]",
    ),
    Column("workload", "string", "workload name"),
    Column("workload_label", "string", "distinguishes inputs of one workload; null for one input"),
    Column("workload_query", "string", "all its query parameters, JSON; null without any"),
    Column(
        "workload_code",
        "string",
        "hash of its program, output type, oracle and all that they read; null: not recorded",
    ),
    Column("engine", "string", "engine name"),
    Column("variant", "string", "the engine's variant"),
    Column("workers", "int64", "requested degree of parallelism"),
    Column("batch", "int64", "events per hand-over; null where the variant has no batches"),
    Column("options", "string", "further engine options, JSON"),
    Column("unit", "string", "unit of hand-over: record, block, micro-batch, whole input; or null"),
    Column("origin", "string", "input origin: memory, file, socket, generator; null: undeclared"),
    Column(
        "also_timed",
        "string",
        "work besides the program that is timed too: reading, decoding, Python, start-up; or nothing",
    ),
    Column("repetition", "int64", "from 1; every repetition is a fresh process"),
    Column("attempt", "int64", "from 1; higher when earlier ones were interrupted or cores moved"),
    Column("order_index", "int64", "position in the run's interleaved order, from 0"),
    Column("started_at", "string", "UTC, ISO 8601"),
    # The result.
    Column("status", "string", "one of STATUSES"),
    Column("reason", "string", "why the trial has no number, or why it is doubtful; null: neither"),
    Column("events", "int64", "input events processed, as the engine counted them"),
    Column("outputs", "int64", "records in the answer"),
    Column("duration_s", "float64", "length of the timed part, by the lab's monotonic clock"),
    Column(
        "throughput_eps",
        "float64",
        "catch-up rate: events / duration_s; null unless ok, and under a load",
    ),
    Column("outputs_eps", "float64", "outputs / duration_s; null unless verified"),
    Column("latency_p50_ns", "int64", "null without stamps or below 20 samples"),
    Column("latency_p90_ns", "int64", "null without stamps or below 100 samples"),
    Column("latency_p99_ns", "int64", "null without stamps or below 1,000 samples"),
    Column("latency_p999_ns", "int64", "null without stamps or below 10,000 samples"),
    Column("latency_max_ns", "int64", "null without stamps"),
    Column("latency_count", "int64", "latency samples; null without stamps"),
    Column("latency_definition", "string", "where the latency begins and ends"),
    Column("cpu_s", "float64", "user and system time of the process tree during the timed part"),
    Column("user_s", "float64", "user time of `cpu_s`; split by the kernel's ticks, some ms"),
    Column("system_s", "float64", "system time of `cpu_s`: clearing memory, waking, waiting, I/O"),
    Column(
        "minor_faults",
        "int64",
        "page faults in the timed part without a disk read: mostly first touches of memory",
    ),
    Column("major_faults", "int64", "page faults in the timed part that waited for a disk"),
    Column("peak_rss_bytes", "int64", "peak of the process tree, preparation and timed part"),
    Column("startup_s", "float64", "process start until the imported engine begins to prepare"),
    Column(
        "prepare_s", "float64", "loading, compiling, starting and warming up; not in duration_s"
    ),
    Column("prepare_cpu_s", "float64", "CPU time of the preparation, of the process tree"),
    Column("answer_s", "float64", "taking the answer from the engine; not in duration_s"),
    Column("answer_cpu_s", "float64", "CPU time of taking the answer, of the process tree"),
    Column("verify_s", "float64", "comparing the answer with the oracle's"),
    Column(
        "lab_duration_s",
        "float64",
        "upper bound of the timed part by the lab's own clock; null: not reported",
    ),
    Column(
        "kept_folders",
        "string",
        "folders whose content the engine reuses from trial to trial, JSON; null: none",
    ),
    # Offered load; all null for catch-up.
    Column("load", "string", "the whole load specification, JSON"),
    Column("load_label", "string", "last part of the cell's id; distinguishes several loads"),
    Column("arrival", "string", "arrival process"),
    Column("offered_eps", "float64", "offered rate: events due / time until the load ended"),
    Column("emitted_eps", "float64", "events handed over / time until the load ended"),
    Column("emitted_share", "float64", "emitted / offered; below 0.999 the trial is invalid"),
    Column("send_lag_p50_ns", "int64", "from due to handed over; null for a virtual source"),
    Column("send_lag_p99_ns", "int64", "above 1 ms the trial is invalid"),
    Column("send_lag_max_ns", "int64", "null for a virtual source"),
    Column(
        "generator_ceiling_eps",
        "float64",
        "rate into a null engine, once a session; null: virtual source",
    ),
    Column("warm_up_s", "float64", "outputs due before this are not in the latency"),
    Column("window_s", "float64", "requested length of the steady window"),
    Column("steady", "string", "steady, unsteady, or too_short; of catch-up null where too short"),
    Column("steady_reason", "string", "which test failed, with its value and bound"),
    Column("backlog_slope_eps", "float64", "Theil-Sen slope of emitted - consumed in the window"),
    Column("backlog_max", "int64", "largest backlog on the 100 ms grid"),
    Column("latency_slope", "float64", "upper 95 % bound of its slope x window / its median"),
    Column("drain_s", "float64", "from the end of the load until the engine was done"),
    Column("sustained", "bool", "by every criterion; null when invalid or not verified"),
    Column(
        "sustained_reason",
        "string",
        "the criteria that failed, with value and bound, and limits of the verdict",
    ),
    Column("service_p50_ns", "int64", "from the engine taking the input to the output: no waiting"),
    Column("service_p99_ns", "int64", "as service_p50_ns"),
    Column("service_max_ns", "int64", "as service_p50_ns"),
    Column("purpose", "string", "cell, or in a search: double, bisect, confirm, refute, level"),
    Column("probe", "int64", "number of the search's probe, from 1"),
    Column("vote", "int64", "repetition of the probe, from 1"),
    Column("comparisons", "int64", "pairs that a join compared; null where not counted"),
    # Elasticity; all null where the number of instances cannot change.
    Column("reconfiguration_count", "int64", "changes of the number of instances or of their keys"),
    Column("reconfiguration_p50_ns", "int64", "from the call to its completion; null without any"),
    Column("reconfiguration_p99_ns", "int64", "nearest rank: with fewer than 100, the longest"),
    Column("reconfiguration_max_ns", "int64", "the longest; null without any"),
    Column("instances_min", "int64", "fewest active at the end of a 100 ms step"),
    Column("instances_max", "int64", "most active at the end of a 100 ms step"),
    Column("load_cov", "float64", "median over the steps with work of the instances' load CoV"),
    # Energy. Null with the reason where no counter can be read, never 0.
    Column("energy_source", "string", "pyrapl, powercap, perf, hwmon, or none"),
    Column("energy_reason", "string", "why the columns are null, or which readings were lost"),
    Column("energy_domains", "string", "joules of the timed part by domain, JSON"),
    Column("energy_gross_j", "float64", "package and DRAM, or psys where only psys can be read"),
    Column("energy_net_j", "float64", "gross less the idle baseline; null without a baseline"),
    Column("energy_j_per_1000", "float64", "gross joules per 1,000 input events"),
    Column("energy_net_j_per_1000", "float64", "net joules per 1,000 input events"),
    Column("power_w", "float64", "gross joules / duration"),
    Column("idle_w", "float64", "idle baseline of the session, mean of before and after"),
    Column("energy_wraps", "int64", "counter wrap-arounds that were corrected"),
    Column("energy_dropped_s", "float64", "time of intervals that could not be corrected"),
    # The comparison with the oracle.
    Column(
        "checked_by",
        "string",
        "origin of the right answer: oracle, or reference engine, which is no independent oracle; "
        "null: oracle",
    ),
    Column("expected_outputs", "int64", "records in the oracle's answer"),
    Column("missing", "int64", "expected records that the answer lacks"),
    Column("duplicate", "int64", "records that the answer has too often"),
    Column("out_of_order", "int64", "records at a place that the dependence relation forbids"),
    Column("wrong", "int64", "records with wrong content"),
    Column("difference", "string", "the difference in words; null without one"),
    Column(
        "floats",
        "string",
        "how floats were compared: exact, or each field's bound with its largest difference; "
        "null where the answer has no floats",
    ),
    Column(
        "float_deviation",
        "float64",
        "the largest difference of a float as a share of its bound; null for exact comparison",
    ),
    # Engine, input, machine and files.
    Column("plan", "string", "the engine's plan in words; null without one"),
    Column("counters", "string", "engine-specific counters, JSON object of name_unit to number"),
    Column("properties", "string", "PIP1-3 as declared by the engine, JSON"),
    Column("oversubscribed", "bool", "workers exceed the cores, or the CPU quota, of the process"),
    Column("dataset", "string", "content hash of the input"),
    Column("seed", "int64", "seed of the generator; null for imported input"),
    Column("engine_version", "string", "version that the engine reports"),
    Column("fingerprint", "string", "equal ones are comparable; excludes revision and machine"),
    Column("returncode", "int64", "of the trial's process; negative: killed by that signal"),
    Column("log", "string", "log file, relative to the run directory"),
    Column("series", "string", "100 ms series, relative to the run directory; null if none"),
    Column(
        "reconfigurations",
        "string",
        "Parquet list of them, relative to the run directory; null if none were recorded",
    ),
    Column("histograms", "string", "HdrHistogram log, relative to the run directory; or null"),
    Column("isolate", "string", "process or container"),
    Column(
        "warnings",
        "string",
        "warnings about machine, kernel and generator, and omitted numbers; JSON list of texts",
    ),
    Column("loadavg_before", "float64", "1-minute load average before the trial"),
    Column("loadavg_after", "float64", "1-minute load average after the trial"),
    Column(
        "core_to_core_before_ns",
        "float64",
        "time of a cache line between the two furthest usable cores, before the trial; "
        "null: not measured",
    ),
    Column("core_to_core_after_ns", "float64", "the same after it; a hypervisor may move cores"),
    Column(
        "planted_slowdown", "float64", "CPU time added to test a gate, as share of the run; 0: none"
    ),
)

NAMES = frozenset(column.name for column in COLUMNS)


def arrow_schema() -> "pa.Schema":
    """Return the Arrow schema of `trials.parquet`, with version and documentation as metadata."""
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
