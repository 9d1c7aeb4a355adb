"""Measures the figures in targets.toml and says which are reached: `python -m benchmarks.targets`.

Exit code 0 when every figure is reached, 1 when one is short, else that of `lab run`.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.evidence import HERE, RunFailedError, gather
from benchmarks.figures import Evidence, Target, measured, read_targets

USER_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PATTERN",
        help="measure only figures whose name matches, and only what they need; may be repeated",
    )
    parser.add_argument(
        "--run",
        type=Path,
        action="append",
        default=[],
        help="judge an earlier run of matrix.toml or latency.toml instead; may be repeated",
    )
    given = parser.parse_args(arguments)
    try:
        targets = read_targets(HERE / "targets.toml", given.only)
        evidence, code = gather(targets, given.run)
    except ValueError as error:
        print(f"targets: {error}", file=sys.stderr)
        return USER_ERROR
    except RunFailedError as error:
        return error.code
    short = show(targets, evidence)
    return code or (1 if short else 0)


def show(targets: Sequence[Target], evidence: Evidence) -> int:
    """Print the table; return how many figures are short."""
    table = Table("figure", "measured", "wanted", "", box=None)
    short = 0
    for target in targets:
        value = measured(target, evidence)
        good = value is not None and target.reached(value)
        short += not good
        shown = "no number" if value is None else in_short(value)
        wanted = f"{target.bound} {in_short(target.wanted)}"
        table.add_row(target.name, shown, wanted, "ok" if good else "short")
    console = Console(width=110 if not sys.stdout.isatty() else None)
    console.print(table)
    if evidence.loops_eps:
        loop = in_short(median(evidence.loops_eps))
        console.print(f"Numba loop, all cores at once: {loop} events/s")
    return short


def in_short(value: float) -> str:
    """Return a number with three digits and k, M or G."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size * 10 or (value >= size and unit != "k"):
            return f"{value / size:.3g} {unit}"
    # Not :.3g, which would write 2000 as 2e+03.
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


if __name__ == "__main__":
    sys.exit(main())
