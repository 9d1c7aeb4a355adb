"""Gates on files of pytest-benchmark (`pytest --benchmark-json FILE`).

One file is one process, so the medians of several files are what a test can be made of: rounds
within a process share its memory layout and its neighbours, and taking them for independent raises
false alarms in four of ten comparisons (docs/gates.md). With too few files a side for any test the
ratios are shown and gate nothing.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.gate.decide import Pair
from lab.gate.errors import GateError
from lab.gate.metrics import Metric
from results import schema

MEDIAN = "median"
METRIC = Metric(
    name=MEDIAN, about="median seconds of a round", cost=lambda result: result.get(MEDIAN)
)


def read_sides(old: Sequence[Path], new: Sequence[Path]) -> dict[str, Pair]:
    """Return the benchmarks of both sides by full name, one trial a file.

    A benchmark that only one side has, or that a file of a side lacks, has a trial without a
    number there, which a gate calls broken or fixed.

    Raises:
        GateError: a file is no JSON of pytest-benchmark, or machines differ.
    """
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
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        machine = content["machine_info"]
        medians = {
            str(item["fullname"]): float(item["stats"]["median"]) for item in content["benchmarks"]
        }
        told = f"{machine['cpu']['brand_raw']}, {machine['cpu']['count']} CPUs"
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GateError(f"{path}: not written by `pytest --benchmark-json`: {error!r}") from error
    bad = [name for name, median in medians.items() if not median > 0]
    if bad:
        raise GateError(f"{path}: {bad[0]} has a median of {medians[bad[0]]!r} s; expected above 0")
    return path, told, medians
