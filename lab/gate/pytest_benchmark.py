"""Gates on files of pytest-benchmark (`pytest --benchmark-json FILE`).

One file is one process, so the medians of several files are what a test can be made of: rounds
within a process share its memory layout and its neighbours, and taking them for independent raises
false alarms in four of ten comparisons (docs/gates.md). With too few files a side for any test the
ratios are shown and gate nothing.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from streamlab.lab.gate.decision import Pair
from streamlab.lab.gate.errors import GateError
from streamlab.lab.gate.metrics import Metric
from streamlab.results import schema
from streamlab.results.fit import encodable

MEDIAN = "median"
LEAST_S, MOST_S = 1e-12, 1e9
"""A clock's finest step and thirty years; others are no times, and their ratios overflow."""
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
"""Keys that identify other tools' files: of the file, or of the first benchmark in it."""
METRIC = Metric(
    name=MEDIAN, about="median seconds of a round", cost=lambda result: result.get(MEDIAN)
)


def read_sides(old: Sequence[Path], new: Sequence[Path]) -> dict[str, Pair]:
    """Return the benchmarks of both sides by full name, one trial a file.

    A benchmark that only one side has, or that a file of a side lacks, has a trial without a
    number there, which a gate calls broken or fixed.

    Raises:
        GateError: a file is no JSON of pytest-benchmark, or on both sides, or machines differ.
    """
    both = {path.resolve() for path in old} & {path.resolve() for path in new}
    if both:
        raise GateError(f"{min(both)}: this file is on both sides; narrow a pattern down")
    sides = [[_read(path) for path in side] for side in (old, new)]
    machines = {machine: path for side in sides for path, machine, _ in side}
    if len(machines) > 1:
        told = "; ".join(f"{path}: {machine}" for machine, path in machines.items())
        raise GateError(f"the files are of different machines and cannot be compared: {told}")
    names = dict.fromkeys(name for side in sides for _, _, medians in side for name in medians)
    return {name: Pair(old=_rows(sides[0], name), new=_rows(sides[1], name)) for name in names}


def _rows(side: Sequence[tuple[Path, str, dict[str, float]]], name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for path, _, medians in side:
        if name in medians:
            rows.append({"status": schema.OK, MEDIAN: medians[name]})
        else:
            rows.append({"status": schema.CRASH, "reason": f"{path} has no such benchmark"})
    return rows


def _read(path: Path) -> tuple[Path, str, dict[str, float]]:
    """Return a file's machine and its medians in seconds by full name."""
    content = _content(path)
    try:
        machine = _machine(content["machine_info"])
        found = [(str(one["fullname"]), one["stats"]["median"]) for one in content["benchmarks"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise GateError(
            f"{path}: {_tool(content)}, not a file of `pytest --benchmark-json FILE`, which this "
            f"gate reads ({error!r})"
        ) from error
    if machine is None:
        raise GateError(
            f"{path}: machine_info names no processor, so that machines cannot be distinguished; "
            "write the file without a hook that replaces pytest-benchmark's machine_info"
        )
    medians: dict[str, float] = {}
    for name, median in found:
        if name in medians:
            raise GateError(
                f"{path}: {encodable(name)} is in it twice; a file holds one process of pytest, "
                "in which the names of benchmarks are unique"
            )
        if type(median) not in (int, float) or not LEAST_S <= median <= MOST_S:
            raise GateError(
                f"{path}: {encodable(name)} has a median of {str(median)[:40]} s; expected a "
                f"number from {LEAST_S:g} to {MOST_S:g}; run this benchmark again"
            )
        medians[name] = float(median)
    return path, machine, medians


def _content(path: Path) -> Any:
    """Return the content of a JSON file; a byte-order mark, as Windows writes it, is skipped."""
    try:
        text = path.read_bytes()
        return json.loads(text.decode("utf-16" if text[:2] in _UTF_16 else "utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise GateError(
            f"{path}: cannot be read as JSON ({error}); expected a file of "
            "`pytest --benchmark-json FILE`"
        ) from error


def _machine(info: Mapping[str, Any]) -> str | None:
    """Return a text that distinguishes machines; None if the file has none.

    Processors have no brand on ARM, and py-cpuinfo reports nothing on some machines. Host names
    differ between equal runners, so they do not count.
    """
    cpu = info.get("cpu") or {}
    names = ("brand_raw", "brand", "hardware_raw", "arch_string_raw")
    named = [cpu.get(name) for name in names] + [info.get("machine"), info.get("processor")]
    brand = next((str(name) for name in named if name), None)
    if brand is None:
        return None
    return f"{brand}, {cpu['count']} CPUs" if cpu.get("count") else brand


def _tool(content: object) -> str:
    """Return which tool's output this looks like, in words."""
    first = content[0] if isinstance(content, list) and content else content
    if not isinstance(first, Mapping):
        return f"JSON that begins with {type(content).__name__}"
    benchmarks = first.get("benchmarks") or first.get("results")
    inner = benchmarks[0] if isinstance(benchmarks, list) and benchmarks else {}
    keys = first.keys() | (inner.keys() if isinstance(inner, Mapping) else set())
    return next((f"output of {tool}" for tool, own in _TOOLS.items() if own <= keys), "other JSON")
