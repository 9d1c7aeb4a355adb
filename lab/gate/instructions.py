"""Gates the core's micro-benchmarks on instruction counts.

A count depends only on source, compiler, flags and libraries, so one run per arm is enough.
Changes below the floor are ignored. Counts do not show cache misses, stalls and contention (docs/gates.md).
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from streamlab.lab.errors import GateError
from streamlab.lab.gate.metrics import INSTRUCTIONS
from streamlab.lab.gate.outcome import GateReport, Line, Verdict
from streamlab.lab.isolate.process import last_lines, run_isolated
from streamlab.results.stats.noise import UNSTABLE_ABOVE

FLOOR = 0.01
"""Changes up to 1 % are not a regression: counts have no noise, but unrelated edits change inlining."""

COUNT_TIMEOUT_S = 1800.0
"""Counting the micro-benchmarks takes a build and 15 s; cells run fifty times slower under valgrind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Instruction counts by benchmark, and the tools that affect the counts; see `benchmarks.instructions`."""

    compiler: str
    flags: str
    valgrind: str
    counts: Mapping[str, int]


def read_counts(path: Path) -> Counts:
    """Read a file of instruction counts; refuse a missing or damaged one."""
    # An existing file may be anything, so the remedy must not overwrite the file.
    remedy = "give a file that `python -m benchmarks.instructions` wrote"
    try:
        counts = msgspec.json.decode(path.read_bytes(), type=Counts)
    except FileNotFoundError as error:
        raise GateError(
            f"{path}: the file of instruction counts is missing; make it with "
            f"`python -m benchmarks.instructions --out {path}`"
        ) from error
    except (OSError, ValueError) as error:
        raise GateError(f"{path}: not a file of instruction counts: {error!r}; {remedy}") from error
    for name, count in counts.counts.items():
        if count <= 0:
            raise GateError(f"{path}: {name} counts {count}, expected above 0; {remedy}")
    return counts


def differing(old: Counts, new: Counts) -> list[str]:
    """Return why two records of counts cannot be compared; empty if they can."""
    return [
        f"{name} was {getattr(old, name)!r}, is {getattr(new, name)!r}"
        for name in ("compiler", "flags", "valgrind")
        if getattr(old, name) != getattr(new, name)
    ]


def compare_counts(old: Counts, new: Counts) -> tuple[Line, ...]:
    """Return one line per benchmark.

    A removed benchmark counts as broken, so that it cannot disappear unnoticed. A new benchmark is
    only listed.

    Raises:
        GateError: compiler, flags or valgrind differ; the message has both values.
    """
    for difference in differing(old, new):
        raise GateError(
            f"instruction counts cannot be compared: {difference}; count the old revision with this "
            "one (--against REV), or make a new baseline"
        )
    lines = []
    for name in dict.fromkeys((*old.counts, *new.counts)):
        if name not in new.counts:
            note = "missing in the new arm; if it was removed on purpose, make a new baseline"
            lines.append(Line(cell=name, metric=INSTRUCTIONS, word=Verdict.BROKEN, note=note))
        elif name not in old.counts:
            note = f"new: {new.counts[name]:,} instructions"
            lines.append(Line(cell=name, metric=INSTRUCTIONS, word=Verdict.ADDED, note=note))
        else:
            lines.append(count_line(name, [old.counts[name]], [new.counts[name]]))
    return tuple(lines)


def count_line(name: str, old: Sequence[int], new: Sequence[int]) -> Line:
    """Return the line on one benchmark or cell, from at least one count per arm.

    A change counts only if every ratio of a new count to an old one exceeds the floor.
    """
    low, high = min(new) / max(old), max(new) / min(old)
    if low > 1 + FLOOR:
        word = Verdict.REGRESSION
    elif high < 1 / (1 + FLOOR):
        word = Verdict.IMPROVED
    else:
        word = Verdict.UNCHANGED if high <= 1 + max(FLOOR, UNSTABLE_ABOVE) else Verdict.UNSTABLE
    return Line(
        cell=name,
        metric=INSTRUCTIONS,
        word=word,
        n=min(len(old), len(new)),
        ratio=float(median(new) / median(old)),
        floor=FLOOR,
        note=f"{_format_counts(old)} -> {_format_counts(new)}",
    )


def _format_counts(counts: Sequence[int]) -> str:
    return ", ".join(f"{count:,}" for count in counts)


def report_counts(old: Counts, new: Counts, *, names: tuple[str, str]) -> GateReport:
    """Return the comparison as a gate's report; errors as for `compare_counts`."""
    return GateReport(
        old=names[0],
        new=names[1],
        rule=f"instruction counts, effect above {FLOOR:.0%}; no test, counts do not vary",
        lines=compare_counts(old, new),
        notes=(f"{new.compiler}, {new.flags}, {new.valgrind}",),
    )


def count_tree(
    checkout: Path, tree: Path, out: Path, *, plants: Sequence[tuple[str, float]] = ()
) -> Counts:
    """Count a source tree's benchmarks with this checkout's `benchmarks.instructions`.

    `plants` has the percentage of work to add to each benchmark, to test the gate.

    Raises:
        GateError: the count failed or took too long.
    """
    command = [
        *(sys.executable, "-m", "benchmarks.instructions", "--source", str(tree)),
        *("--out", str(out), "--build-dir", str(out.parent / INSTRUCTIONS)),
        *(word for name, percent in plants for word in ("--plant", f"{name}={percent:g}")),
    ]
    log = out.with_suffix(".log")
    log.write_text("", encoding="utf-8")
    outcome = run_isolated(
        command,
        log=log,
        timeout_s=COUNT_TIMEOUT_S,
        env={"PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"},
    )
    if outcome.timed_out:
        raise GateError(f"counting {tree} took more than {COUNT_TIMEOUT_S:.0f} s: {log}")
    if outcome.returncode != 0:
        output = "\n".join(last_lines(log, 5))
        raise GateError(f"the instructions of {tree} cannot be counted: {output}")
    return read_counts(out)
