"""Gates on files of pytest-benchmark (`pytest --benchmark-json FILE`).

Each file is one process, and the test uses the medians of several files.
Rounds within a process are not independent: treating them so gives false alarms in one of four
comparisons (docs/gates.md). With too few files per side, ratios are shown but not gated.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from streamlab.lab.errors import GateError
from streamlab.lab.gate.metrics import Metric, Pair, TrialResult
from streamlab.results import schema
from streamlab.results.row_conversion import escape_text

LEAST_S, MOST_S = 1e-12, 1e9
"""Range of plausible times: a clock's finest step to thirty years. Others could overflow a ratio."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_TOOLS = {
    "Google Benchmark": {"context", "real_time"},
    "pyperf": {"benchmarks", "runs"},
    "hyperfine": {"results", "command"},
    "JMH": {"jmhVersion", "primaryMetric"},
    "Criterion.rs": {"mean", "median", "std_dev"},
    "BenchmarkDotNet": {"HostEnvironmentInfo"},
    "asv": {"commit_hash", "result_columns"},
}
"""Keys that identify files of other tools, in the file or in its first benchmark."""
METRIC = Metric(name="median", about="median seconds of a round", column="duration_s")


def read_sides(old: Sequence[Path], new: Sequence[Path]) -> dict[str, Pair]:
    """Return the benchmarks of both sides by full name, with one trial per file.

    If a file lacks a benchmark, its trial is a crash, which a gate reports as broken or fixed.

    Raises:
        GateError: a file is not from pytest-benchmark or is on both sides, or the machines differ.
    """
    both = {path.resolve() for path in old} & {path.resolve() for path in new}
    if both:
        raise GateError(f"{min(both)}: this file is on both sides; use narrower patterns")
    sides = [[_read(path) for path in side] for side in (old, new)]
    machines = {machine: path for side in sides for path, machine, _ in side}
    if len(machines) > 1:
        listed = "; ".join(f"{path}: {machine}" for machine, path in machines.items())
        raise GateError(f"the files are from different machines; compare one machine's: {listed}")
    names = dict.fromkeys(name for side in sides for _, _, medians in side for name in medians)
    return {name: Pair(old=_trials(sides[0], name), new=_trials(sides[1], name)) for name in names}


def _trials(side: Sequence[tuple[Path, str, dict[str, float]]], name: str) -> list[TrialResult]:
    return [
        TrialResult(status=schema.OK, duration_s=medians[name])
        if name in medians
        else TrialResult(status=schema.CRASH, reason=f"{path} has no such benchmark")
        for path, _, medians in side
    ]


def _read(path: Path) -> tuple[Path, str, dict[str, float]]:
    """Return a file's machine and its medians in seconds by full name."""
    content = _content(path)
    try:
        machine = _machine(content["machine_info"])
        pairs = [
            (str(benchmark["fullname"]), benchmark["stats"]["median"])
            for benchmark in content["benchmarks"]
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise GateError(
            f"{path}: {_tool(content)}, expected a file of `pytest --benchmark-json FILE` "
            f"({error!r})"
        ) from error
    if machine is None:
        raise GateError(
            f"{path}: machine_info names no processor, which identifies the machine; do not "
            "replace pytest-benchmark's machine_info in a hook"
        )
    medians: dict[str, float] = {}
    for name, median in pairs:
        if name in medians:
            raise GateError(
                f"{path}: {escape_text(name)} occurs twice; give one file per process of pytest"
            )
        if type(median) not in (int, float) or not LEAST_S <= median <= MOST_S:
            raise GateError(
                f"{path}: {escape_text(name)} has a median of {str(median)[:40]} s; expected a "
                f"number from {LEAST_S:g} to {MOST_S:g}; run this benchmark again"
            )
        medians[name] = float(median)
    return path, machine, medians


def _content(path: Path) -> Any:
    """Return the content of a JSON file, also in UTF-16 or with a byte-order mark, as on Windows."""
    try:
        text = path.read_bytes()
        return json.loads(text.decode("utf-16" if text[:2] in _UTF_16 else "utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise GateError(
            f"{path}: cannot be read as JSON ({error}); expected a file of "
            "`pytest --benchmark-json FILE`"
        ) from error


def _machine(info: Mapping[str, Any]) -> str | None:
    """Return a text that identifies the kind of machine; None if the file has none.

    It tries several fields, as ARM processors have no brand and py-cpuinfo may report nothing. Host
    names do not count, because they differ between equal runners.
    """
    cpu = info.get("cpu") or {}
    names = ("brand_raw", "brand", "hardware_raw", "arch_string_raw")
    named = [cpu.get(name) for name in names] + [info.get("machine"), info.get("processor")]
    brand = next((str(name) for name in named if name), None)
    if brand is None:
        return None
    return f"{brand}, {cpu['count']} CPUs" if cpu.get("count") else brand


def _tool(content: object) -> str:
    """Return a description of the tool that probably wrote a file."""
    first = content[0] if isinstance(content, list) and content else content
    if not isinstance(first, Mapping):
        return f"JSON that begins with {type(content).__name__}"
    benchmarks = first.get("benchmarks") or first.get("results")
    inner = benchmarks[0] if isinstance(benchmarks, list) and benchmarks else {}
    keys = first.keys() | (inner.keys() if isinstance(inner, Mapping) else set())
    return next(
        (f"output of {tool}" for tool, marks in _TOOLS.items() if marks <= keys), "other JSON"
    )
