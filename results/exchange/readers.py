"""Reads files of other tools: one trial per process, as far as a file distinguishes processes.

One process counts as: a file of Google Benchmark, Criterion.rs or Bencher; a time of hyperfine; a fork of JMH.
Several repetitions within a process become one trial with their median, since they are not independent.
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from streamlab.results.errors import ResultsError
from streamlab.results.exchange.external_file import (
    KINDS,
    ExternalFile,
    ExternalTrial,
    check_seconds,
    describe_kind,
    find_kind,
    read_json,
)
from streamlab.results.exchange.pytest_benchmark_file import TOOL as PYTEST_BENCHMARK
from streamlab.results.exchange.pytest_benchmark_file import read_pytest_benchmark
from streamlab.results.query import group_by
from streamlab.results.row_conversion import escape_text
from streamlab.results.schema import MEASURED, STATUSES

EXPECTED = (
    "a file of pytest-benchmark, Google Benchmark, hyperfine, JMH or Criterion.rs (estimates.json), "
    "in Bencher's metric format, or CSV with the columns cell and duration_s"
)
_PER_SECOND = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0, "m": 1 / 60, "min": 1 / 60, "h": 1 / 3600}
_MEASURES = ("throughput", "latency")
_COLUMNS = ("cell", "duration_s")
_ESTIMATES = "estimates.json"

Trials = dict[str, list[ExternalTrial]]


def find_files(path: Path) -> list[Path]:
    """Return the file itself, or for a folder of Criterion.rs the newest estimates of each benchmark.

    Raises:
        ResultsError: the folder has no such file.
    """
    if not path.is_dir():
        return [path]
    estimates = sorted(path.glob(f"**/new/{_ESTIMATES}"))
    if not estimates:
        raise ResultsError(f"{path}: no new/{_ESTIMATES} below this folder; expected {EXPECTED}")
    return estimates


def read_external(path: Path) -> ExternalFile:
    """Return the benchmarks of a file; the content shows which tool wrote the file.

    Raises:
        ResultsError: the file cannot be read, or its tool is unknown.
    """
    if path.suffix == ".csv":
        return ExternalFile(tool="csv", trials=_read_csv(path))
    content = read_json(path, EXPECTED)
    kind = find_kind(content)
    if kind == PYTEST_BENCHMARK:
        return read_pytest_benchmark(path)
    try:
        if kind in _READERS:
            return _READERS[kind](path, content)
        if kind is None and _is_bmf(content):
            return ExternalFile(tool="bmf", trials=_read_bmf(path, content))
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise ResultsError(
            f"{path}: {describe_kind(content)}, but in an unknown form ({error!r}); "
            f"expected {EXPECTED}"
        ) from error
    raise ResultsError(f"{path}: {describe_kind(content)}; expected {EXPECTED}")


def _read_google(path: Path, content: Mapping[str, Any]) -> ExternalFile:
    context = content["context"]
    entries = content["benchmarks"]
    runs = [entry for entry in entries if entry.get("run_type") != "aggregate"] or [
        entry for entry in entries if entry.get("aggregate_name") == "median"
    ]
    trials: Trials = {}
    for name, repetitions in group_by(runs, _run_name).items():
        failure = next(
            (str(r["error_message"]) for r in repetitions if r.get("error_occurred")), None
        )
        if failure is not None:
            trials[name] = [ExternalTrial(seconds=None, failure=failure)]
        elif all(r.get("fresh_process") for r in repetitions):
            trials[name] = [_google_trial(path, name, [entry]) for entry in repetitions]
        else:
            trials[name] = [_google_trial(path, name, repetitions)]
    cores = context.get("num_cpus")
    return ExternalFile(
        tool="google-benchmark",
        trials=trials,
        host={"cores_usable": cores} if cores else {},
        started_at=context.get("date"),
    )


def _run_name(entry: Mapping[str, Any]) -> str:
    return str(entry.get("run_name") or entry["name"])


def _google_trial(path: Path, name: str, repetitions: Sequence[Mapping[str, Any]]) -> ExternalTrial:
    unit = _PER_SECOND[repetitions[0].get("time_unit", "ns")]
    seconds = check_seconds(path, name, "time", median(r["real_time"] for r in repetitions) / unit)
    items = [r["items_per_second"] for r in repetitions if r.get("items_per_second")]
    events = max(round(median(items) * seconds), 1) if items else 1
    return ExternalTrial(
        seconds=seconds, events=events, cpu_s=median(r["cpu_time"] for r in repetitions) / unit
    )


def _read_hyperfine(path: Path, content: Mapping[str, Any]) -> ExternalFile:
    trials: Trials = {}
    for result in content["results"]:
        name = str(result["command"])
        times = result.get("times") or [result["median"]]
        codes = result.get("exit_codes") or [0] * len(times)
        memory = result.get("memory_usage_byte") or [None] * len(times)
        _refuse_duplicate(path, trials, name)
        trials[name] = [
            _hyperfine_trial(path, name, *values)
            for values in zip(times, codes, memory, strict=True)
        ]
    return ExternalFile(tool="hyperfine", trials=trials)


def _hyperfine_trial(
    path: Path, name: str, seconds: float, code: int | None, peak: int | None
) -> ExternalTrial:
    if code != 0:
        failure = "killed by a signal" if code is None else f"exit code {code}"
        return ExternalTrial(seconds=None, failure=failure)
    if seconds == 0:
        reason = "0 s, as hyperfine subtracts the start of its shell; measure with --shell=none"
        return ExternalTrial(seconds=None, failure=reason)
    return ExternalTrial(seconds=check_seconds(path, name, "time", seconds), peak_rss_bytes=peak)


def _read_jmh(path: Path, content: Sequence[Mapping[str, Any]]) -> ExternalFile:
    trials: Trials = {}
    for benchmark in content:
        parameters = ", ".join(f"{k}={v}" for k, v in (benchmark.get("params") or {}).items())
        name = f"{benchmark['benchmark']} {benchmark['mode']}" + (
            f" ({parameters})" if parameters else ""
        )
        _refuse_duplicate(path, trials, name)
        metric = benchmark["primaryMetric"]
        to_seconds = _score_conversion(metric["scoreUnit"])
        forks = [fork for fork in metric.get("rawData") or () if fork] or [[metric["score"]]]
        trials[name] = [
            ExternalTrial(seconds=check_seconds(path, name, "time", to_seconds(median(fork))))
            for fork in forks
        ]
    return ExternalFile(tool="jmh", trials=trials)


def _refuse_duplicate(path: Path, trials: Trials, name: str) -> None:
    if name in trials:
        raise ResultsError(f"{path}: {escape_text(name)} occurs twice; give each its own name")


def _score_conversion(unit: str) -> Callable[[float], float]:
    """Return the conversion of a score, in `ops/ms` or `us/op`, to seconds per operation."""
    first, _, second = unit.partition("/")
    if first == "ops":
        return lambda score: 1 / (score * _PER_SECOND[second])
    return lambda score: score / _PER_SECOND[first]


def _read_criterion(path: Path, content: Mapping[str, Any]) -> ExternalFile:
    description_path = path.with_name("benchmark.json")
    name = path.parent.parent.name
    events = 1
    if description_path.is_file():
        described = read_json(description_path, "Criterion.rs' description of the benchmark")
        name = str(described["full_id"])
        events = (described.get("throughput") or {}).get("Elements", 1)
    seconds = content["median"]["point_estimate"] / _PER_SECOND["ns"]
    trial = ExternalTrial(seconds=check_seconds(path, name, "median", seconds), events=events)
    return ExternalFile(tool="criterion", trials={name: [trial]})


def _is_bmf(content: object) -> bool:
    return isinstance(content, Mapping) and any(
        isinstance(measure, Mapping) and "value" in measure
        for measures in content.values()
        if isinstance(measures, Mapping)
        for measure in measures.values()
    )


def _read_bmf(path: Path, content: Mapping[str, Any]) -> Trials:
    """Read rates and times, ignore other measures, and refuse benchmarks that have neither."""
    trials: Trials = {}
    for name, measures in content.items():
        rate, latency = (measures[m]["value"] if m in measures else None for m in _MEASURES)
        if not rate and not latency:
            raise ResultsError(
                f"{path}: {name} has the measures {', '.join(measures)}; expected throughput "
                "(operations/s) or latency (ns)"
            )
        seconds = check_seconds(path, name, "time", 1 / rate if rate else (latency or 0) / 1e9)
        p50 = round(latency) if rate and latency else None
        trials[name] = [ExternalTrial(seconds=seconds, latency_p50_ns=p50)]
    return trials


def _read_csv(path: Path) -> Trials:
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""))
        missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise ResultsError(f"{path}: no column {missing[0]}; expected {EXPECTED}")
        return {
            name: [trial for _, trial in rows]
            for name, rows in group_by(_csv_rows(path, reader), lambda row: row[0]).items()
        }
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ResultsError(f"{path}: cannot be read as CSV ({error})") from error


def _csv_rows(path: Path, reader: "csv.DictReader[str]") -> Iterator[tuple[str, ExternalTrial]]:
    for row in reader:
        name = row["cell"]
        status = row.get("status")
        if not row["duration_s"] or (status in STATUSES and status not in MEASURED):
            failure = row.get("reason") or status or "no duration_s"
            yield name, ExternalTrial(seconds=None, failure=failure)
            continue
        try:
            numbers = {
                column: float(text) for column in _NUMBER_COLUMNS if (text := row.get(column))
            }
            integers = {column: int(numbers[column]) for column in _INTEGERS if column in numbers}
            if integers.get("events", 1) < 1:
                raise ValueError(f"events is {row['events']}; expected 1 or more")
        except (ValueError, OverflowError) as error:
            raise ResultsError(f"{path}: line {reader.line_num}: {error}") from error
        yield (
            name,
            ExternalTrial(
                seconds=check_seconds(path, name, "time", numbers["duration_s"]),
                events=integers.get("events", 1),
                cpu_s=numbers.get("cpu_s"),
                peak_rss_bytes=integers.get("peak_rss_bytes"),
                latency_p50_ns=integers.get("latency_p50_ns"),
                latency_p99_ns=integers.get("latency_p99_ns"),
            ),
        )


_INTEGERS = ("events", "peak_rss_bytes", "latency_p50_ns", "latency_p99_ns")
_NUMBER_COLUMNS = ("duration_s", "cpu_s", *_INTEGERS)
_READERS: Mapping[str | None, Callable[[Path, Any], ExternalFile]] = {
    "Google Benchmark": _read_google,
    "hyperfine": _read_hyperfine,
    "JMH": _read_jmh,
    "Criterion.rs": _read_criterion,
}
assert _READERS.keys() <= KINDS.keys()
