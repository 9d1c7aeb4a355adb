"""Defines the row of a trial, `TrialRow`, and derives the columns of `trials.parquet` from this record.

The version rises when a column changes its meaning, or when a column that readers need is removed.
Readers refuse unknown versions, ignore unknown columns, and read missing columns as null.
So optional columns need no new version.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, get_args, get_type_hints

import msgspec

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
IMPORTED = "imported"

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
    IMPORTED: "measured by another program, whose file was imported; its answer was never checked",
}

VERIFIED = frozenset({OK, UNSTEADY, UNSUSTAINED})
"""Statuses of trials with a right answer and a consistent clock."""

UNCHECKED = "nothing"
"""Value of `TrialRow.checked_by` of imported trials."""

MEASURED = VERIFIED | {IMPORTED}
"""Statuses of trials with numbers."""


class TrialRow(msgspec.Struct, frozen=True, kw_only=True):
    """One trial. Each field is a column with a type and a description; None if it has no value."""

    # The cell and the repetition.
    cell: Annotated[
        str, "id: workload/engine/variant/w<workers>[/b<batch>][/engine's label][/load's label]"
    ]
    workload: Annotated[str, "workload name"]
    workload_label: Annotated[
        str | None, "distinguishes inputs of one workload; null for one input"
    ] = None
    workload_query: Annotated[str | None, "all query parameters, JSON; null without any"] = None
    workload_code: Annotated[
        str | None,
        "hash of the program, output type, oracle and all that they read; null: not recorded",
    ] = None
    engine: Annotated[str, "engine name"]
    variant: Annotated[str, "the engine's variant"]
    workers: Annotated[int, "requested degree of parallelism"]
    batch: Annotated[int | None, "events per hand-over; null where the variant has no batches"] = (
        None
    )
    options: Annotated[str | None, "further engine options, JSON"] = None
    unit: Annotated[
        str | None, "unit of hand-over: record, block, micro-batch, whole input; or null"
    ] = None
    origin: Annotated[
        str | None, "input origin: memory, file, socket, generator, broker; null: undeclared"
    ] = None
    also_timed: Annotated[
        str | None,
        "timed work besides the program: reading, decoding, Python, start-up; or nothing",
    ] = None
    cluster: Annotated[
        str | None,
        "where the trial ran: spark standalone, yarn, kubernetes; null: on the lab's machine",
    ] = None
    nodes: Annotated[int | None, "nodes of the cluster that the trial used; null: no cluster"] = (
        None
    )
    node_cores: Annotated[
        str | None, "cores of the trial on each node, largest first; null: no cluster"
    ] = None
    fault: Annotated[
        str | None, "fault that the lab caused in the cluster, as in the matrix; null: none"
    ] = None
    recovery_s: Annotated[
        float | None,
        "from the fault until tasks had as many cores as before; null: no fault, or not before the end",
    ] = None
    repetition: Annotated[int, "from 1; every repetition is a fresh process"]
    attempt: Annotated[
        int | None, "from 1; higher after interrupted attempts, or if cores moved"
    ] = None
    order_index: Annotated[int, "position in the run's interleaved order, from 0"]
    started_at: Annotated[str | None, "UTC, ISO 8601"] = None
    # The result.
    status: Annotated[str, "one of STATUSES"]
    reason: Annotated[
        str | None, "why the trial has no number, or why it is doubtful; null: neither"
    ] = None
    events: Annotated[int | None, "input events processed, as the engine counted them"] = None
    outputs: Annotated[int | None, "records in the answer"] = None
    duration_s: Annotated[
        float | None, "length of the timed part, by the lab's monotonic clock"
    ] = None
    throughput_eps: Annotated[
        float | None,
        "catch-up rate: events / duration_s; null unless ok, under a load, and for an empty answer",
    ] = None
    outputs_eps: Annotated[float | None, "outputs / duration_s; null unless verified"] = None
    latency_p50_ns: Annotated[int | None, "null without stamps or below 20 samples"] = None
    latency_p90_ns: Annotated[int | None, "null without stamps or below 100 samples"] = None
    latency_p99_ns: Annotated[int | None, "null without stamps or below 1,000 samples"] = None
    latency_p999_ns: Annotated[int | None, "null without stamps or below 10,000 samples"] = None
    latency_max_ns: Annotated[int | None, "null without stamps"] = None
    latency_count: Annotated[int | None, "latency samples; null without stamps"] = None
    latency_definition: Annotated[str | None, "where the latency begins and ends"] = None
    cpu_s: Annotated[
        float | None, "user and system time of the process tree during the timed part"
    ] = None
    user_s: Annotated[
        float | None, "user time of `cpu_s`; split by the kernel's ticks, some ms"
    ] = None
    system_s: Annotated[
        float | None, "system time of `cpu_s`: clearing memory, waking, waiting, I/O"
    ] = None
    minor_faults: Annotated[
        int | None,
        "page faults in the timed part without a disk read: mostly first touches of memory",
    ] = None
    major_faults: Annotated[int | None, "page faults in the timed part that waited for a disk"] = (
        None
    )
    peak_rss_bytes: Annotated[
        int | None, "peak of the process tree, preparation and timed part"
    ] = None
    startup_s: Annotated[
        float | None, "process start until the imported engine begins to prepare"
    ] = None
    prepare_s: Annotated[
        float | None, "loading, compiling, starting and warming up; not in duration_s"
    ] = None
    prepare_cpu_s: Annotated[float | None, "CPU time of the preparation, of the process tree"] = (
        None
    )
    answer_s: Annotated[float | None, "taking the answer from the engine; not in duration_s"] = None
    answer_cpu_s: Annotated[float | None, "CPU time of taking the answer, of the process tree"] = (
        None
    )
    verify_s: Annotated[float | None, "comparing the answer with the oracle's"] = None
    lab_duration_s: Annotated[
        float | None, "upper bound of the timed part by the lab's own clock; null: not reported"
    ] = None
    kept_folders: Annotated[
        str | None, "folders whose content the engine reuses from trial to trial, JSON; null: none"
    ] = None
    # Offered load; all null for catch-up.
    load: Annotated[str | None, "the whole load specification, JSON"] = None
    load_label: Annotated[str | None, "last part of the cell's id; distinguishes several loads"] = (
        None
    )
    arrival: Annotated[str | None, "arrival process"] = None
    offered_eps: Annotated[float | None, "offered rate: events due / time until the load ended"] = (
        None
    )
    emitted_eps: Annotated[float | None, "events handed over / time until the load ended"] = None
    emitted_share: Annotated[
        float | None, "emitted / offered; below 0.999 the trial is invalid"
    ] = None
    send_lag_p50_ns: Annotated[int | None, "from due to handed over; null for a virtual source"] = (
        None
    )
    send_lag_p99_ns: Annotated[int | None, "above 1 ms the trial is invalid"] = None
    send_lag_max_ns: Annotated[int | None, "null for a virtual source"] = None
    generator_ceiling_eps: Annotated[
        float | None, "rate into a null engine, once a session; null: virtual source"
    ] = None
    warm_up_s: Annotated[float | None, "outputs due before this are not in the latency"] = None
    window_s: Annotated[float | None, "requested length of the steady window"] = None
    steady: Annotated[
        str | None, "steady, unsteady, or too_short; of catch-up null where too short"
    ] = None
    steady_reason: Annotated[str | None, "which test failed, with its value and bound"] = None
    backlog_slope_eps: Annotated[
        float | None, "Theil-Sen slope of emitted - consumed in the window"
    ] = None
    backlog_max: Annotated[int | None, "largest backlog on the 100 ms grid"] = None
    latency_slope: Annotated[
        float | None, "upper 95 % bound of the latency's slope x window / median"
    ] = None
    drain_s: Annotated[float | None, "from the end of the load until the engine was done"] = None
    sustained: Annotated[
        bool | None, "by every criterion; null when invalid, or nothing was compared"
    ] = None
    sustained_reason: Annotated[
        str | None, "the criteria that failed, with value and bound, and limits of the verdict"
    ] = None
    service_p50_ns: Annotated[
        int | None, "from the engine taking the input to the output: no waiting"
    ] = None
    service_p99_ns: Annotated[int | None, "99th percentile of the same time"] = None
    service_max_ns: Annotated[int | None, "largest value of the same time"] = None
    purpose: Annotated[
        str | None, "cell, or in a search: double, bisect, confirm, refute, level"
    ] = None
    probe: Annotated[int | None, "number of the search's probe, from 1"] = None
    vote: Annotated[int | None, "repetition of the probe, from 1"] = None
    comparisons: Annotated[int | None, "pairs that a join compared; null where not counted"] = None
    # Elasticity; all null where the number of instances cannot change.
    reconfiguration_count: Annotated[
        int | None, "changes of the number of instances or of their keys"
    ] = None
    reconfiguration_p50_ns: Annotated[
        int | None, "from the call to its completion; null without any"
    ] = None
    reconfiguration_p99_ns: Annotated[
        int | None, "nearest rank: with fewer than 100, the longest"
    ] = None
    reconfiguration_max_ns: Annotated[int | None, "the longest; null without any"] = None
    instances_min: Annotated[int | None, "fewest active at the end of a 100 ms step"] = None
    instances_max: Annotated[int | None, "most active at the end of a 100 ms step"] = None
    load_cov: Annotated[
        float | None, "median over the steps with work of the instances' load CoV"
    ] = None
    # Energy. If no counter can be read, values are null, never 0, and `energy_reason` says why.
    energy_source: Annotated[str | None, "pyrapl, powercap, perf, or none"] = None
    energy_reason: Annotated[
        str | None, "why the columns are null, or which readings were lost"
    ] = None
    energy_domains: Annotated[str | None, "joules of the timed part by domain, JSON"] = None
    energy_gross_j: Annotated[
        float | None, "package and DRAM, or psys where only psys can be read"
    ] = None
    energy_net_j: Annotated[
        float | None, "gross less the idle baseline; null without a baseline"
    ] = None
    energy_j_per_1000: Annotated[float | None, "gross joules per 1,000 input events"] = None
    energy_net_j_per_1000: Annotated[float | None, "net joules per 1,000 input events"] = None
    power_w: Annotated[float | None, "gross joules / duration"] = None
    idle_w: Annotated[float | None, "idle baseline of the session, mean of before and after"] = None
    energy_wraps: Annotated[int | None, "counter wrap-arounds that were corrected"] = None
    energy_dropped_s: Annotated[float | None, "time of intervals that could not be corrected"] = (
        None
    )
    # The comparison with the oracle.
    checked_by: Annotated[
        str | None,
        "origin of the right answer: oracle; reference engine, which is not an independent oracle; invariants, which "
        "hold whenever rows arrive (windows of arrival time); nothing, of imported trials; null: oracle",
    ] = None
    expected_outputs: Annotated[
        int | None, "records in the oracle's answer; null: checked by invariants"
    ] = None
    at_end: Annotated[
        str | None,
        "of a query, what the end of the input does to open windows: drop, flush, or cut by a load",
    ] = None
    outputs_at_end: Annotated[
        int | None,
        "records of the open windows, dropped or flushed; null: cut, no query, or not counted (too many updates)",
    ] = None
    late_rows: Annotated[
        int | None,
        "input rows that the import left out as late, or that came too late for all windows; null: no bound",
    ] = None
    missing: Annotated[int | None, "expected records that the answer lacks"] = None
    duplicate: Annotated[int | None, "records that the answer has too often"] = None
    out_of_order: Annotated[
        int | None, "records at a place that the dependence relation forbids"
    ] = None
    wrong: Annotated[int | None, "records with wrong content"] = None
    difference: Annotated[str | None, "the difference in words; null without one"] = None
    floats: Annotated[
        str | None,
        "how floats were compared: exact, or each field's bound with its largest difference; "
        "null where the answer has no floats",
    ] = None
    float_deviation: Annotated[
        float | None,
        "the largest difference of a float as a share of its bound; null for exact comparison",
    ] = None
    # Engine, input, machine and files.
    plan: Annotated[str | None, "the engine's plan in words; null without one"] = None
    counters: Annotated[
        str | None, "engine-specific counters, JSON object of name_unit to number"
    ] = None
    properties: Annotated[str | None, "PIP1-3 as declared by the engine, JSON"] = None
    oversubscribed: Annotated[
        bool | None, "workers exceed the cores, or the CPU quota, of the process"
    ] = None
    dataset: Annotated[str | None, "content hash of the input"] = None
    seed: Annotated[int | None, "seed of the generator; null for imported input"] = None
    engine_version: Annotated[str | None, "version that the engine reports"] = None
    fingerprint: Annotated[
        str | None, "trials with equal fingerprints are comparable; excludes revision and machine"
    ] = None
    returncode: Annotated[int | None, "of the trial's process; negative: killed by that signal"] = (
        None
    )
    log: Annotated[str | None, "log file, relative to the run directory"] = None
    series: Annotated[str | None, "100 ms series, relative to the run directory; null if none"] = (
        None
    )
    reconfigurations: Annotated[
        str | None,
        "Parquet file of reconfigurations, relative to the run directory; null if none were recorded",
    ] = None
    histograms: Annotated[
        str | None, "HdrHistogram log, relative to the run directory; or null"
    ] = None
    isolate: Annotated[str | None, "process or container"] = None
    warnings: Annotated[
        str | None,
        "warnings about machine, kernel and generator, and omitted numbers; JSON list of texts",
    ] = None
    loadavg_before: Annotated[float | None, "1-minute load average before the trial"] = None
    loadavg_after: Annotated[float | None, "1-minute load average after the trial"] = None
    core_to_core_before_ns: Annotated[
        float | None,
        "time of a cache line between the two furthest usable cores, before the trial; null: not measured",
    ] = None
    core_to_core_after_ns: Annotated[
        float | None, "the same time after the trial; a hypervisor may move cores"
    ] = None


def columns_of(row: TrialRow) -> dict[str, object]:
    """Return a row as a dictionary of all columns, for JSON, Arrow and data frames."""
    return msgspec.structs.asdict(row)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the schema: its name with the unit, its Arrow type, and its documentation."""

    name: str
    type: str
    about: str


_ARROW_TYPES = {str: "string", int: "int64", float: "float64", bool: "bool"}


def _columns() -> tuple[Column, ...]:
    columns = []
    for name, hint in get_type_hints(TrialRow, include_extras=True).items():
        value_type, about = get_args(hint)
        (plain,) = {value_type, *get_args(value_type)} & _ARROW_TYPES.keys()
        columns.append(Column(name, _ARROW_TYPES[plain], about))
    return tuple(columns)


COLUMNS = _columns()
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
