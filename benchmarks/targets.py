"""Measures the figures in targets.toml and reports which are reached: `python -m benchmarks.targets`.

Exit code: that of `lab run` if it failed; else 0 if every figure is reached, and 1 if a figure is short.
`within noise` marks a figure whose interval contains the bound.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.evidence import HERE, RunFailedError, gather
from benchmarks.figures import Evidence, Target, estimate, judge_target, read_targets
from streamlab.lab.figures.verdict import INCONCLUSIVE, MET

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
    options = parser.parse_args(arguments)
    try:
        targets = read_targets(HERE / "targets.toml", options.only)
        evidence, code = gather(targets, options.run)
    except ValueError as error:
        print(f"targets: {error}", file=sys.stderr)
        return USER_ERROR
    except RunFailedError as error:
        return error.code
    short = show(targets, evidence)
    return code or (1 if short else 0)


def show(targets: Sequence[Target], evidence: Evidence) -> int:
    """Print the table; return the number of figures that are short."""
    table = Table("figure", "measured", "95 % interval", "wanted", "", box=None)
    short = 0
    for target in targets:
        measured = estimate(target, evidence)
        claim = judge_target(target, evidence)
        good = claim.indicates == MET
        short += not good
        word = "ok" if good else "short"
        table.add_row(
            target.name,
            "no number" if measured is None else in_short(measured.value),
            " to ".join("?" if end is None else in_short(end) for end in (claim.low, claim.high)),
            bound_text(target),
            f"{word}, within noise" if claim.outcome == INCONCLUSIVE else word,
        )
    Console(width=130 if not sys.stdout.isatty() else None).print(table)
    return short


def bound_text(target: Target) -> str:
    """Return the bound of a figure in words."""
    if target.at_least is not None:
        return f"at least {in_short(target.at_least)}"
    return f"at most {in_short(target.at_most or 0.0)}"


def in_short(value: float) -> str:
    """Return a number with three digits and k, M or G."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size * 10 or (abs(value) >= size and unit != "k"):
            return f"{value / size:.3g} {unit}"
    # :.3g would write 2000 as 2e+03.
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


if __name__ == "__main__":
    sys.exit(main())
