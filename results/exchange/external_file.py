"""Represents, recognizes and checks files of other tools: benchmarks with one trial per process."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamlab.json_value import JsonObject
from streamlab.results.errors import ResultsError
from streamlab.results.row_conversion import escape_text

LEAST_S, MAX_S = 1e-12, 1e9
"""Range of plausible times: from a clock's finest step to thirty years. Other values could overflow a ratio."""

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")

KINDS = {
    "pytest-benchmark": {"machine_info", "benchmarks"},
    "Google Benchmark": {"context", "real_time"},
    "pyperf": {"benchmarks", "runs"},
    "hyperfine": {"results", "command"},
    "JMH": {"jmhVersion", "primaryMetric"},
    "Criterion.rs": {"mean", "median", "std_dev"},
    "BenchmarkDotNet": {"HostEnvironmentInfo"},
    "asv": {"commit_hash", "result_columns"},
}
"""For each tool, keys of its JSON file and keys of the first benchmark in this file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalTrial:
    """One process of a benchmark.

    Attributes:
        seconds: time of the operation; None only with a `failure`.
        events: number of units of work in this time.
        cpu_s, peak_rss_bytes, latency_p50_ns, latency_p99_ns: further values; None if not recorded.
        failure: why the process has no number.
    """

    seconds: float | None
    events: int = 1
    cpu_s: float | None = None
    peak_rss_bytes: int | None = None
    latency_p50_ns: int | None = None
    latency_p99_ns: int | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalFile:
    """The content of a file.

    Attributes:
        tool: name of the tool that wrote the file.
        trials: trials by name of the benchmark.
        host: fields that `streamlab.results.machines` compares, as far as the file has them.
        commit: the source revision; None if not recorded.
        started_at: start of the benchmark as in the file; None if not recorded.
    """

    tool: str
    trials: Mapping[str, Sequence[ExternalTrial]]
    host: JsonObject = field(default_factory=dict)
    commit: str | None = None
    started_at: str | None = None


def read_json(path: Path, expected: str) -> Any:
    """Return the content of a JSON file; accepts UTF-16 and byte-order marks, which Windows tools write.

    Raises:
        ResultsError: the file is not JSON; the message ends with `expected`.
    """
    try:
        content = path.read_bytes()
        return json.loads(content.decode("utf-16" if content[:2] in _UTF_16 else "utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise ResultsError(
            f"{path}: cannot be read as JSON ({error}); expected {expected}"
        ) from error


def check_seconds(path: Path, name: str, quantity: str, value: object) -> float:
    """Return a time in seconds.

    Raises:
        ResultsError: the value is not a plausible number; the message calls it `quantity`.
    """
    if type(value) not in (int, float) or not LEAST_S <= value <= MAX_S:  # type: ignore[operator]
        raise ResultsError(
            f"{path}: {escape_text(name)} has a {quantity} of {str(value)[:40]} s; expected a "
            f"number from {LEAST_S:g} to {MAX_S:g}; run this benchmark again"
        )
    return float(value)  # type: ignore[arg-type]


def find_kind(content: object) -> str | None:
    """Return the name of the tool that probably wrote a file; None if the tool is unknown."""
    first = content[0] if isinstance(content, list) and content else content
    if not isinstance(first, Mapping):
        return None
    benchmarks = first.get("benchmarks") or first.get("results")
    inner = benchmarks[0] if isinstance(benchmarks, list) and benchmarks else {}
    keys = first.keys() | (inner.keys() if isinstance(inner, Mapping) else set())
    return next((tool for tool, marks in KINDS.items() if marks <= keys), None)


def describe_kind(content: object) -> str:
    """Return a description of a file's kind for an error message."""
    kind = find_kind(content)
    if kind is not None:
        return f"output of {kind}"
    first = content[0] if isinstance(content, list) and content else content
    return (
        "other JSON"
        if isinstance(first, Mapping)
        else f"JSON that begins with {type(content).__name__}"
    )
