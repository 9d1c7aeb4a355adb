"""Reads files of pytest-benchmark (`pytest --benchmark-json FILE`).

A file comes from one process, and rounds within a process are not independent. So each benchmark becomes one
trial with the median. Files that the lab exported have a fresh process per round, and each round becomes a trial.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamlab.results.errors import ResultsError
from streamlab.results.exchange.external_file import (
    ExternalFile,
    ExternalTrial,
    check_seconds,
    describe_kind,
    read_json,
)
from streamlab.results.row_conversion import escape_text

TOOL = "pytest-benchmark"
EXPECTED = "a file of `pytest --benchmark-json FILE`"
FRESH_PROCESSES = "fresh_processes"
"""Key in `extra_info` of benchmarks that the lab exported: each round is a fresh process."""


def read_pytest_benchmark(path: Path) -> ExternalFile:
    """Return the benchmarks of a file by full name.

    Raises:
        ResultsError: pytest-benchmark did not write the file, or a benchmark occurs twice or has no time.
    """
    content = read_json(path, EXPECTED)
    try:
        host = _read_host(content["machine_info"])
        commit = (content.get("commit_info") or {}).get("id")
        entries = [
            (str(benchmark["fullname"]), benchmark["stats"], benchmark.get("extra_info") or {})
            for benchmark in content["benchmarks"]
        ]
        medians = [stats["median"] for _, stats, _ in entries]
    except (KeyError, TypeError, AttributeError) as error:
        raise ResultsError(
            f"{path}: {describe_kind(content)}, expected {EXPECTED} ({error!r})"
        ) from error
    trials: dict[str, tuple[ExternalTrial, ...]] = {}
    for (name, stats, extra), median in zip(entries, medians, strict=True):
        if name in trials:
            raise ResultsError(
                f"{path}: {escape_text(name)} occurs twice; give one file per process of pytest"
            )
        rounds = stats.get("data") if extra.get(FRESH_PROCESSES) else None
        trials[name] = tuple(
            ExternalTrial(seconds=check_seconds(path, name, "median", value))
            for value in rounds or [median]
        )
    return ExternalFile(
        tool=TOOL, trials=trials, host=host, commit=commit, started_at=content.get("datetime")
    )


def _read_host(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the processor and its number of cores; empty if the file names no processor.

    Tries several fields, since ARM processors have no brand and py-cpuinfo may report nothing. Ignores
    host names, which differ between equal runners.
    """
    cpu = info.get("cpu") or {}
    names = ("brand_raw", "brand", "hardware_raw", "arch_string_raw")
    named = [cpu.get(name) for name in names] + [info.get("machine"), info.get("processor")]
    brand = next((str(name) for name in named if name), None)
    if brand is None:
        return {}
    return {"cpu_model": brand} | ({"cores_usable": cpu["count"]} if cpu.get("count") else {})
