"""Compares several ways to do the same work, each trial in a fresh process, and shows medians.

Each repetition runs every way once, so that a busy moment of the machine affects all of them. On a shared machine,
trust CPU times rather than rates.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

TIMEOUT_S = 1800.0

Numbers = Mapping[str, float]
"""The results of one trial by quantity, e.g. `{"eps": 1e8, "cpu_ns": 9.5}`."""


def in_turn(
    ways: Sequence[str], trial: Callable[..., Numbers], repetitions: int
) -> dict[str, list[Numbers]]:
    """Return the numbers of each way's trials; `trial` takes the words of a way as arguments."""
    by_way: dict[str, list[Numbers]] = {way: [] for way in ways}
    for _ in range(repetitions):
        for way, numbers in by_way.items():
            numbers.append(trial(*way.split()))
    return by_way


def show(ways: Sequence[str], trial: Callable[..., Numbers], repetitions: int) -> None:
    """Run the ways in turn; print median, lowest and highest value of each quantity."""
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, medians (lowest to highest)")
    width = max(map(len, ways))
    for way, trials in in_turn(ways, trial, repetitions).items():
        texts = (_text(name, [numbers[name] for numbers in trials]) for name in trials[0])
        print(f"{way:{width}}  {', '.join(texts)}")


def _text(name: str, values: Sequence[float]) -> str:
    median, low, high = statistics.median(values), min(values), max(values)
    if name.endswith("_s") or name == "eps":
        return f"{name} {median / 1e6:.1f} M ({low / 1e6:.1f} to {high / 1e6:.1f})"
    return f"{name} {median:.1f} ({low:.1f} to {high:.1f})"


def run_program(name: str, *arguments: str, env: Mapping[str, str] | None = None) -> Any:
    """Run a program of this folder in a fresh process; return its last line of output as JSON."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    process = subprocess.run(
        command, env=env, stdout=subprocess.PIPE, timeout=TIMEOUT_S, check=True
    )
    return json.loads(process.stdout.splitlines()[-1])


def run_lab(*arguments: str, env: Mapping[str, str] | None = None) -> tuple[Path | None, int]:
    """Run `lab run`; return the run's directory, None if it made none, and the exit code."""
    command = [sys.executable, "-m", "streamlab", "run", *arguments]
    process = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=False)
    print(process.stdout, end="")
    run_dir = Path((process.stdout.strip().splitlines() or [""])[-1])
    return (run_dir if (run_dir / "run.json").is_file() else None), process.returncode
