"""Counts the instructions of the core's micro-benchmarks: `python -m benchmarks.instructions`.

Builds `core_bench` with the flags of the CMake preset `instructions` and runs each benchmark under
callgrind, which counts only instructions inside `lab::bench::run_counted`. The counts depend only on the
source, the compiler with its headers, the flags, and the C library. Load, address randomisation and the
size of the environment do not change them, so one run is enough and a gate on counts needs no statistics.
Counts are not times: a cache miss counts nothing, and an atomic operation counts one.

Exit codes: 0; 3 if something is missing or fails (the message names the remedy); 4 if the counts are not
comparable with `--baseline`, because compiler, flags or valgrind differ.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from streamlab.lab.errors import GateError
from streamlab.lab.gate.build import build_path
from streamlab.lab.gate.instructions import Counts, differing, read_counts

ROOT = Path(__file__).parents[1]
PRESET = "instructions"
PROGRAM = Path("engines/multicore/core/bench/core_bench")
COUNTED = "*lab::bench::*counted*"
FAILED = 3
NOT_COMPARABLE = 4
TIMEOUT_S = 120.0
"""Limit per benchmark, which takes one or two seconds."""

# glibc chooses its copying and filling functions by the processor, and their thresholds by the caches.
# The oldest choice is pinned, so that all machines count the same. The names are from glibc 2.36; other
# versions ignore names that they do not know.
TUNABLES = ":".join(
    (
        "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-AVX_Fast_Unaligned_Load,"
        "-ERMS,-FSRM",
        "glibc.cpu.x86_data_cache_size=32768",
        "glibc.cpu.x86_shared_cache_size=1048576",
        "glibc.cpu.x86_non_temporal_threshold=786432",
        "glibc.cpu.x86_rep_movsb_threshold=2048",
        "glibc.cpu.x86_rep_stosb_threshold=2048",
    )
)
# The whole environment of a counted process. LD_BIND_NOW binds symbols before the program starts;
# otherwise the look-up at a first call would count towards the caller.
ENVIRONMENT = {"GLIBC_TUNABLES": TUNABLES, "LD_BIND_NOW": "1", "LC_ALL": "C"}
# Variables that would change the preset's flags; the build removes them.
BUILD_VARIABLES = ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS")


class CountError(Exception):
    """The instructions cannot be counted; the message says what is missing and the remedy."""


def count(source: Path, build_dir: Path, plants: Mapping[str, float] | None = None) -> Counts:
    """Build a source tree's benchmarks, and count the instructions of each.

    The tree must have the CMake preset `instructions`; `plants` is added work in percent, by benchmark.

    Raises:
        CountError: a program is missing, a build fails, or a benchmark's answer is wrong.
    """
    plants = dict(plants or {})
    valgrind = _program("valgrind", "apt-get install -y valgrind")
    # The path is short and relative, since the length of a program's path moves the stack.
    folder = (build(source, build_dir) / PROGRAM).parent
    listed = _output([f"./{PROGRAM.name}", "--list"], cwd=folder).splitlines()
    names = [line.split("\t")[0] for line in listed]
    for name in plants:
        if name not in names:
            raise CountError(f"--plant {name}: no such benchmark; there are {', '.join(names)}")
    return Counts(
        compiler=_compiler(build_dir),
        flags=_flags(build_dir),
        valgrind=_output([valgrind, "--version"]).strip(),
        counts={name: _count_one(valgrind, folder, name, plants.get(name, 0.0)) for name in names},
    )


def build(source: Path, build_dir: Path) -> Path:
    """Build `core_bench` of a source tree; return the absolute build directory.

    Raises:
        CountError: CMake or the compiler is missing or fails.
    """
    environment = {k: v for k, v in os.environ.items() if k not in BUILD_VARIABLES}
    # The environment's own CMake and Ninja, whether or not it is activated.
    environment["PATH"] = build_path()
    cmake = _program("cmake", "make dependencies", environment["PATH"])
    target = build_dir.absolute()
    for command in (
        [cmake, "--preset", PRESET, "-S", str(source), "-B", str(target)],
        [cmake, "--build", str(target), "--target", PROGRAM.name],
    ):
        _output(command, env=environment, cwd=source)
    return target


def write(counts: Counts, path: Path) -> None:
    """Write counts as sorted JSON, so that a changed count changes one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(counts), indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _count_one(valgrind: str, folder: Path, name: str, plant: float) -> int:
    """Return the instructions of one benchmark."""
    with tempfile.TemporaryDirectory(prefix="lab-callgrind-") as scratch:
        out = Path(scratch) / "out"
        command = [
            valgrind,
            "--tool=callgrind",
            f"--callgrind-out-file={out}",
            f"--toggle-collect={COUNTED}",
            f"./{PROGRAM.name}",
            name,
            *(["--plant", f"{plant:g}"] if plant else []),
        ]
        _output(command, env=ENVIRONMENT, cwd=folder)
        match = re.search(r"^totals: (\d+)$", out.read_text(encoding="utf-8"), re.MULTILINE)
    if match is None or int(match[1]) == 0:
        raise CountError(
            f"{name}: callgrind counted nothing inside {COUNTED}; was the function inlined?"
        )
    return int(match[1])


def _compiler(build_dir: Path) -> str:
    compiler = _cache_variable(build_dir, "CMAKE_CXX_COMPILER")
    first = _output([compiler, "--version"]).splitlines()[0]
    library = os.confstr("CS_GNU_LIBC_VERSION") if sys.platform == "linux" else None
    return f"{first}; {library or 'unknown C library'}"


def _flags(build_dir: Path) -> str:
    general = _cache_variable(build_dir, "CMAKE_CXX_FLAGS")
    return f"{general} {_cache_variable(build_dir, f'CMAKE_CXX_FLAGS_{PRESET.upper()}')}".strip()


def _cache_variable(build_dir: Path, variable: str) -> str:
    """Return a variable of a build directory's CMake cache."""
    text = (build_dir / "CMakeCache.txt").read_text(encoding="utf-8")
    match = re.search(rf"^{re.escape(variable)}:\w+=(.*)$", text, re.MULTILINE)
    if match is None:
        raise CountError(f"{build_dir}/CMakeCache.txt has no {variable}; delete the directory")
    return match[1]


def _program(name: str, remedy: str, path: str | None = None) -> str:
    program = shutil.which(name, path=path)
    if program is None:
        raise CountError(f"missing: {name}; remedy: {remedy}")
    return program


def _output(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> str:
    """Run a command and return its standard output."""
    command_text = " ".join(command)
    try:
        process = subprocess.run(
            command,
            env=env,
            cwd=cwd,
            check=False,
            capture_output=True,
            text=True,
            timeout=None if env is not ENVIRONMENT else TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise CountError(f"{command_text} was stopped after {TIMEOUT_S:g} s") from None
    except OSError as error:
        raise CountError(f"{command_text} cannot be started: {error}") from error
    if process.returncode != 0:
        last = "\n".join((process.stdout + process.stderr).strip().splitlines()[-15:])
        raise CountError(f"{command_text} ended with code {process.returncode}:\n{last}")
    return process.stdout


def _plant(text: str) -> tuple[str, float]:
    name, _, percent = text.partition("=")
    try:
        return name, float(percent)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PERCENT") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, write the record, return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="where to write the counts, JSON")
    parser.add_argument("--source", type=Path, default=ROOT, help="the tree that is counted")
    parser.add_argument(
        "--build-dir", type=Path, help="default: build/instructions in the source tree"
    )
    parser.add_argument(
        "--plant",
        type=_plant,
        action="append",
        default=[],
        metavar="NAME=PERCENT",
        help="add this much of the benchmark's own work, to try a gate; may be repeated",
    )
    parser.add_argument(
        "--baseline",
        type=Path,
        help="say whether the counts may be compared with those of this file",
    )
    options = parser.parse_args(arguments)
    source = options.source.resolve()
    try:
        baseline = None if options.baseline is None else read_counts(options.baseline)
        counts = count(source, options.build_dir or source / "build" / PRESET, dict(options.plant))
        write(counts, options.out)
    except (CountError, GateError, OSError) as error:
        print(f"instructions: {error}", file=sys.stderr)
        return FAILED
    for name, number in counts.counts.items():
        print(f"{name:24} {number:>14,}")
    print(f"{counts.compiler}, {counts.flags}, {counts.valgrind}: {options.out}")
    if baseline is None:
        return 0
    for reason in (reasons := differing(baseline, counts)):
        print(f"not comparable with {options.baseline}: {reason}")
    return NOT_COMPARABLE if reasons else 0


if __name__ == "__main__":
    sys.exit(main())
