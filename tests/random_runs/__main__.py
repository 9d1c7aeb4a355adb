"""`python -m tests.random_runs`: ends with code 1 when a run has failed."""

import argparse
import secrets
import sys
import time

import tests.random_runs
from tests.random_runs.campaign import Campaign

PROGRESS_S = 10.0
MAX_SHRUNK = 5
"""Findings that are shrunk; of the others there is a line each."""
DIGITS = 10**9


def main() -> int:
    """Do what the command line asks for."""
    given = _arguments()
    with Campaign(given.families, bound_s=given.bound_s, shrink_s=given.shrink_s) as campaign:
        names = given.family or list(campaign.families)
        unknown = [name for name in names if name not in campaign.families]
        if unknown:
            known = ", ".join(campaign.families)
            print(f"--family {unknown[0]}: there is none; there are {known}", file=sys.stderr)
            return 2
        runs = given.runs if given.runs is not None else len(names)
        first = secrets.randbelow(DIGITS) if given.seed is None else given.seed
        print(f"{runs} runs of {', '.join(names)}, seeds from {first}", flush=True)
        try:
            _go(campaign, names, range(first, first + -(-runs // len(names))), runs, given.repeat)
        except KeyboardInterrupt:
            print("interrupted")
        print(campaign.summary(names))
        return 1 if campaign.findings else 0


def _go(campaign: Campaign, names: list[str], seeds: range, runs: int, repeat: int) -> None:
    """Do the runs of each seed, a family after the other."""
    begin = told = time.monotonic()
    done = 0
    for seed in seeds:
        for name in names[: runs - done]:
            shrink = len(campaign.findings) < MAX_SHRUNK
            finding = campaign.run(name, seed, repeat=repeat, shrink=shrink)
            done += 1
            if finding is not None:
                print(finding.text(), flush=True)
            now = time.monotonic()
            if now - told > PROGRESS_S:
                told = now
                found = len(campaign.findings)
                print(f"{done} runs in {now - begin:.0f} s, {found} findings", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.random_runs", description=tests.random_runs.__doc__
    )
    add = parser.add_argument
    add("--runs", type=_count, help="how many, families in turn; default: one of each family")
    add("--seed", type=int, help="of the first; the next has the next. Default: by chance")
    add("--family", action="append", help="only this one; may be given again")
    add("--repeat", type=_count, default=1, help="each run so often, or until it fails")
    add("--bound-s", type=float, default=60.0, help="a run that takes longer hangs")
    add("--shrink-s", type=float, default=120.0, help="for the smallest case of a finding")
    add("--families", default="tests.random_runs.families:FAMILIES", help="where families are")
    return parser.parse_args()


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of runs; expected at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
