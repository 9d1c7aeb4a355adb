"""Measures curves of the core from one worker to all cores, on a machine without the lab.

    python -m benchmarks.scaling [--only PATTERN ...] [--repetitions N] [--out FOLDER]

Run it from a source tree. It needs Python packages and a C++20 compiler, but no network and no
Java. It builds a missing core in `build/scaling`; an entry-point file there lists the workloads and
engines. It runs `benchmarks/scaling.toml` with `lab run`, so that `lab report`, `lab compare` and
`lab figure --run` accept the results. For each curve it prints, by number of workers, the rate, the CPU
time per event and the transfer time between distant cores, and then the universal scalability law
(`streamlab.results.stats.scalability`).
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamlab.results.schema import TrialRow

from benchmarks.turns import run_lab

TREE = Path(__file__).parents[1]
BUILT = TREE / "build" / "scaling"
MATRIX = TREE / "benchmarks" / "scaling.toml"

NEEDED = (
    "click",
    "hdrh",
    "msgspec",
    "numba",
    "numpy",
    "pandas",
    "psutil",
    "pyarrow",
    "rich",
    "scipy",
)
"""Import names of the packages that a measurement needs."""
PACKAGES = {"hdrh": "hdrhistogram"}
"""Names of packages that differ from the import name."""
BUILD_PACKAGES = ("nanobind",)
OPTIONAL = {
    "jinja2": "`lab report`",
    "matplotlib": "`lab figure`",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what is missing, run the matrix, print the curves; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", default=[], help="cells whose id matches")
    parser.add_argument("--repetitions", type=int, help="fresh processes a cell; default 5")
    parser.add_argument("--out", type=Path, default=TREE / "results" / "runs")
    parser.add_argument("--run", type=Path, help="print the curves of this run, and run nothing")
    options = parser.parse_args(arguments)
    if lacking := missing(NEEDED):
        packages = " ".join(PACKAGES.get(name, name) for name in lacking)
        print(f"missing: {' '.join(lacking)}; remedy: pip install {packages}")
        return 2
    for name in missing(OPTIONAL):
        print(f"without {name}: no {OPTIONAL[name]}")
    env = environment()
    if options.run is not None:
        return report(options.run)
    if not finds_core(env) and (error := build()) is not None:
        print(error)
        return 2
    run_dir = run(env, options.only, options.repetitions, options.out)
    return 2 if run_dir is None else report(run_dir)


def missing(names: Iterable[str]) -> list[str]:
    """Return the packages that are not installed."""
    return [name for name in names if importlib.util.find_spec(name) is None]


def environment() -> dict[str, str]:
    """Return an environment in which Python treats the source tree as an installed lab."""
    site = BUILT / "site"
    write_entry_points(site / "stream_lab-0.dist-info")
    inherited = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join(filter(None, [str(TREE), str(site), inherited]))
    return {**os.environ, "PYTHONPATH": path}


def write_entry_points(folder: Path) -> None:
    """Write the entry points of an installed lab: its engines, workloads and optimizers."""
    project = tomllib.loads((TREE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = []
    for group, entries in project["entry-points"].items():
        if group.startswith("lab."):
            lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()), ""]
    folder.mkdir(parents=True, exist_ok=True)
    metadata = f"Metadata-Version: 2.1\nName: stream-lab\nVersion: {project['version']}\n"
    (folder / "METADATA").write_text(metadata, encoding="utf-8")
    (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def finds_core(env: Mapping[str, str]) -> bool:
    """Return whether a Python process finds the core."""
    command = [sys.executable, "-c", "import streamlab.engines.multicore._core"]
    return subprocess.run(command, env=env, capture_output=True, check=False).returncode == 0


def build() -> str | None:
    """Build the core into the source tree's engines/multicore; return an error, or None."""
    if lacking := missing(BUILD_PACKAGES):
        return f"missing: {' '.join(lacking)}; remedy: pip install {' '.join(lacking)}"
    log = BUILT / "build.log"
    core = str(BUILT / "core")
    options = [
        "-DCMAKE_BUILD_TYPE=Release",
        "-DSKBUILD=ON",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]
    steps = (
        ["cmake", "-S", str(TREE), "-B", core, *options],
        ["cmake", "--build", core, "--parallel", str(os.cpu_count() or 1)],
        ["cmake", "--install", core, "--prefix", str(TREE)],
    )
    print(f"building the core (minutes, once); log: {log}", flush=True)
    with log.open("w", encoding="utf-8") as output:
        for step in steps:
            try:
                process = subprocess.run(step, stdout=output, stderr=output, check=False)
            except OSError as error:
                return f"cannot run {step[0]}: {error.strerror}; remedy: pip install cmake ninja"
            if process.returncode != 0:
                return f"the core does not build: see {log}"
    return None


def run(
    env: Mapping[str, str], only: Sequence[str], repetitions: int | None, out: Path
) -> Path | None:
    """Run the matrix with `lab run`; return the run's directory, or None if it made none."""
    matrix = MATRIX
    if repetitions is not None:
        matrix = MATRIX.with_name(f"scaling.{os.getpid()}.toml")
        text = MATRIX.read_text(encoding="utf-8")
        matrix.write_text(
            text.replace("\nrepetitions = 5\n", f"\nrepetitions = {repetitions}\n"), "utf-8"
        )
    patterns = [word for pattern in only for word in ("--only", pattern)]
    try:
        return run_lab(str(matrix), "--out", str(out), *patterns, env=env)[0]
    finally:
        if matrix != MATRIX:
            matrix.unlink()


def report(run_dir: Path) -> int:
    """Print the curves of a run."""
    from streamlab.results.machines import usable_cores
    from streamlab.results.store import read_run

    run = read_run(run_dir)
    host = run.meta.host
    print(f"\n{host.get('cpu_model')}, {usable_cores(host)} usable cores")
    for line in curves(run.rows):
        print(line)
    return 0


def curves(rows: "Iterable[TrialRow]") -> list[str]:
    """Return a table per curve, one for each workload and variant: its verified rows by workers."""
    from streamlab.results.schema import VERIFIED
    from streamlab.results.stats.scalability import fit_scalability

    by_curve: dict[tuple[str, str], dict[int, list[TrialRow]]] = {}
    for row in rows:
        name = "@".join(filter(None, (row.workload, row.workload_label)))
        curve = by_curve.setdefault((name, row.variant), {})
        if row.status in VERIFIED and row.throughput_eps:
            curve.setdefault(row.workers, []).append(row)
    lines = []
    for (name, variant), curve in by_curve.items():
        lines += ["", f"{name} on {variant}", _HEAD]
        rates = {n: [row.throughput_eps for row in curve[n]] for n in sorted(curve)}
        first = median(rates[min(rates)]) / min(rates) if rates else 0.0
        for workers, measured in rates.items():
            cpu_ns = median(row.cpu_s / row.events * 1e9 for row in curve[workers])
            transfers = [row.core_to_core_before_ns for row in curve[workers]]
            transfers_ns = [ns for ns in transfers if ns is not None]
            lines.append(
                f"{workers:>7} {median(measured):>14,.0f} {min(measured):>14,.0f} "
                f"{max(measured):>14,.0f} {median(measured) / first:>8.2f} {cpu_ns:>10.1f} "
                f"{f'{median(transfers_ns):.0f}' if transfers_ns else '-':>8} {len(measured):>3}"
            )
        lines.append(_describe_law(fit_scalability(rates)))
    return lines


_HEAD = (
    f"{'workers':>7} {'events/s':>14} {'min':>14} {'max':>14} {'speed-up':>8} {'CPU ns/ev.':>10} "
    f"{'apart ns':>8} {'n':>3}"
)


def _describe_law(fit: Any) -> str:
    if fit is None:
        return "no fit: the law needs verified rates of four numbers of workers"
    contention, coherence, peak = fit.contention, fit.coherence, fit.peak_workers
    return (
        f"law: contention {contention.value:.4f} [{contention.low:.4f}, {contention.high:.4f}], "
        f"coherence {coherence.value:.5f} [{coherence.low:.5f}, {coherence.high:.5f}], "
        f"highest with {peak.value:.0f} [{peak.low:.0f}, {peak.high:.0f}] workers, "
        f"farthest from the law {fit.worst_error:.0%}"
    )


if __name__ == "__main__":
    sys.exit(main())
