"""Runs the benchmark programs of the C++ core in turn: ordered logs, ordered pipelines, reordering buffers.

    python -m benchmarks.core_programs ordered_log
    python -m benchmarks.core_programs pipelines "lll 2 64 2000000"

Each trial is a fresh process that checks its own answer: every reader received every tuple once and in order, or all
records left in order. The module first builds the program with the environment's own cmake.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.turns import Numbers, show
from streamlab.lab.gate.build import build_path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build/release/engines/multicore/core/bench"
TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreProgram:
    """A benchmark program of the core.

    Attributes:
        executable: file name in FOLDER.
        arguments: description of the arguments.
        quantities: names of the numbers that a process prints, in order.
        ways: arguments of the default processes, one text per process.
    """

    executable: str
    arguments: str
    quantities: tuple[str, ...]
    ways: tuple[str, ...]


CORE_PROGRAMS: Mapping[str, CoreProgram] = {
    "ordered_log": CoreProgram(
        executable="ordered_log_bench",
        arguments="FORM SOURCES READERS BATCH TUPLES RUN (rows of a source before the next one's)",
        quantities=("eps", "cpu_ns"),
        ways=tuple(
            f"{form} {ways} {ways} {batch} 8000000 1"
            for ways in (1, 2, 4)
            for batch in (1, 64)
            for form in ("order", "interleaved", "scalegate")
        ),
    ),
    "pipelines": CoreProgram(
        executable="ordered_bench",
        arguments="KINDS (a letter an operator: l stateless, p partitioned, f stateful) WORKERS "
        "BATCH RECORDS",
        quantities=("wall_ns", "cpu_ns", "scheduler_ns"),
        ways=tuple(
            f"{kinds} {workers} {batch} 2000000"
            for kinds in ("l", "lll", "p", "f")
            for batch in (1, 64)
            for workers in (1, 2)
        ),
    ),
    # `none` hands out units and orders nothing; a scheme costs its time minus that of `none`.
    "reordering": CoreProgram(
        executable="reordering_bench",
        arguments="SCHEME WORKERS UNITS SPINS (work on a unit)",
        quantities=("wall_ns", "cpu_ns"),
        ways=tuple(
            f"{scheme} {workers} 4000000 0"
            for workers in (1, 2)
            for scheme in ("none", "nonblocking", "lock")
        ),
    ),
}


def trial(name: str, *arguments: str) -> Numbers:
    """Run one process of a built program: rates in 1/s, times in ns per tuple, record or unit.

    Raises:
        subprocess.CalledProcessError: the answer or the arguments are wrong.
    """
    program = CORE_PROGRAMS[name]
    process = subprocess.run(
        [str(FOLDER / program.executable), *arguments],
        check=True,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    return dict(zip(program.quantities, map(float, process.stdout.split()), strict=True))


def build(name: str) -> None:
    """Build a program.

    Raises:
        SystemExit: it cannot be built; the message says why.
    """
    executable = CORE_PROGRAMS[name].executable
    for step in (["--preset"], ["--build", "--target", executable, "--preset"]):
        # The environment's own cmake: CMakeLists.txt requires a newer one than Debian 12's.
        try:
            subprocess.run(
                ["cmake", *step, "release"],
                check=True,
                cwd=ROOT,
                env={**os.environ, "PATH": build_path()},
                stdout=sys.stderr,
            )
        except FileNotFoundError:
            sys.exit(f"no cmake next to {sys.executable} or on PATH; remedy: make dependencies")
        except subprocess.CalledProcessError as error:
            sys.exit(f"{executable} does not build: {error}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, return the exit code."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog="; ".join(f"{name}: {program.arguments}" for name, program in CORE_PROGRAMS.items()),
    )
    parser.add_argument("program", choices=CORE_PROGRAMS)
    parser.add_argument("ways", nargs="*", help="arguments of the processes to compare, quoted")
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args(arguments)
    build(options.program)
    ways = options.ways or CORE_PROGRAMS[options.program].ways
    show(ways, lambda *words: trial(options.program, *words), options.repetitions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
