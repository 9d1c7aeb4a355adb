"""Gates on files of pytest-benchmark (`pytest --benchmark-json FILE`).

Each file is one process, and the test uses the medians of several files.
Rounds within a process are not independent: treating them so gives false alarms in one of four
comparisons (docs/gates.md). With too few files per side, ratios are shown but not gated.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from streamlab.lab.errors import GateError
from streamlab.lab.gate.metrics import Metric, Pair, TrialResult
from streamlab.results import schema
from streamlab.results.exchange.external_file import ExternalFile
from streamlab.results.exchange.pytest_benchmark_file import read_pytest_benchmark

METRIC = Metric(name="median", about="median seconds of a round", column="duration_s")


def read_sides(old: Sequence[Path], new: Sequence[Path]) -> dict[str, Pair]:
    """Return the benchmarks of both sides by full name, with one trial per file.

    If a file lacks a benchmark, its trial is a crash, which a gate reports as broken or fixed.

    Raises:
        GateError: a file is on both sides, or the machines differ.
        ResultsError: a file is not from pytest-benchmark.
    """
    both = {path.resolve() for path in old} & {path.resolve() for path in new}
    if both:
        raise GateError(f"{min(both)}: this file is on both sides; use narrower patterns")
    sides = [[(path, read_pytest_benchmark(path)) for path in side] for side in (old, new)]
    machines = {_machine(path, file.host): path for side in sides for path, file in side}
    if len(machines) > 1:
        listed = "; ".join(f"{path}: {machine}" for machine, path in machines.items())
        raise GateError(f"the files are from different machines; compare one machine's: {listed}")
    names = dict.fromkeys(name for side in sides for _, file in side for name in file.trials)
    return {name: Pair(old=_trials(sides[0], name), new=_trials(sides[1], name)) for name in names}


def _trials(side: Sequence[tuple[Path, ExternalFile]], name: str) -> list[TrialResult]:
    return [
        TrialResult(status=schema.OK, duration_s=trial.seconds)
        for _, file in side
        for trial in file.trials.get(name, ())
    ] + [
        TrialResult(status=schema.CRASH, reason=f"{path} has no such benchmark")
        for path, file in side
        if name not in file.trials
    ]


def _machine(path: Path, host: Mapping[str, object]) -> str:
    if "cpu_model" not in host:
        raise GateError(
            f"{path}: machine_info names no processor, which identifies the machine; do not "
            "replace pytest-benchmark's machine_info in a hook"
        )
    cores = f", {host['cores_usable']} CPUs" if "cores_usable" in host else ""
    return f"{host['cpu_model']}{cores}"
