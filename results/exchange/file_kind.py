"""Recognizes the tool that wrote a JSON file by the keys of the file and of its first benchmark."""

from collections.abc import Mapping

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


def find_kind(content: object) -> str | None:
    """Return the name of the tool that probably wrote a file; None if no tool is known for it."""
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
