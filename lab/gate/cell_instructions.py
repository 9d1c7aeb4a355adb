"""Gates cells on the instructions of their timed part, counted by valgrind.

Counts repeat better than times, so a shared machine can detect a change of 5 %.
Counts are not times: cache misses, stalls and waits add nothing to a count.
"""

import platform
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from streamlab.lab.errors import GateError
from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.build import Say
from streamlab.lab.gate.counted_run import MACHINE
from streamlab.lab.gate.instructions import COUNT_TIMEOUT_S, FLOOR, count_line
from streamlab.lab.gate.metrics import INSTRUCTIONS
from streamlab.lab.gate.outcome import GateReport, Line, Verdict
from streamlab.lab.gate.report_notes import reference_notes
from streamlab.lab.gate.status import fault_line
from streamlab.lab.gate.trials import Bench, Work, warm_up
from streamlab.lab.isolate.process import last_lines, run_isolated
from streamlab.lab.trial.spec import EngineTrial, write_job

COUNTS = 2
"""Counts per arm, taken in turn; the differences show whether an engine's instructions repeat."""

_TOTALS = re.compile(r"^totals: (\d+)", re.MULTILINE)


def check_valgrind() -> None:
    """Refuse a machine that cannot count instructions: another architecture, or no valgrind."""
    if platform.machine() != MACHINE:
        raise GateError(
            f"instructions of a repository can be counted on {MACHINE} only, and this machine is "
            f"{platform.machine()}; use --metric cpu"
        )
    if shutil.which("valgrind") is None:
        raise GateError(
            "valgrind is missing, which counts instructions; install it: apt-get install -y "
            "valgrind (Debian, Ubuntu) or dnf install -y valgrind (Fedora)"
        )


def check_catch_up(works: Mapping[str, Work]) -> None:
    """Refuse cells with an offered load, because their instructions depend on the clock."""
    for cell, work in works.items():
        if work.job.load is not None:
            raise GateError(
                f"{cell} has an offered load, which cannot be counted: count catch-up cells "
                "(--only), and gate this cell with --metric p99"
            )


def count_arms(bench: Bench, old: Arm, new: Arm, say: Say) -> GateReport:
    """Count the instructions of a bench's cells in two built arms and return the report."""
    check_catch_up(bench.works)
    for arm in (old, new):
        bench.make_oracles(arm, say)
    first = warm_up(bench, old, new, say)
    lines = [
        fault_line(cell, pair) or _count_cell(bench, old, new, cell, say)
        for cell, pair in first.items()
    ]
    return GateReport(
        old=old.revision,
        new=new.revision,
        rule=f"instructions of the timed part, {COUNTS} counts per arm, effect above {FLOOR:.0%}",
        lines=lines,
        notes=(
            *reference_notes(first),
            "answers were compared in a separate trial, not under valgrind",
        ),
    )


def _count_cell(bench: Bench, old: Arm, new: Arm, cell: str, say: Say) -> Line:
    counts: dict[str, list[int]] = {"old": [], "new": []}
    for number in range(COUNTS):
        for side, arm in (("old", old), ("new", new)):
            log = bench.log(arm, cell)
            result = count(bench.trial(arm, cell), arm, log=log)
            if isinstance(result, str):
                note = f"{side}: {result} ({log})"
                return Line(cell=cell, metric=INSTRUCTIONS, word=Verdict.NO_NUMBER, note=note)
            counts[side].append(result)
            say(f"{cell}: {side}, count {number + 1} of {COUNTS}: {result:,} instructions")
    return count_line(cell, counts["old"], counts["new"])


def count(job: EngineTrial, arm: Arm, *, log: Path) -> int | str:
    """Return the instructions of a trial's timed part, or the reason why the count failed."""
    with tempfile.TemporaryDirectory(prefix="lab-gate-") as name:
        folder = Path(name)
        scratch, spec = folder / "tmp", folder / "spec.json"
        scratch.mkdir()
        write_job(job, spec)
        outcome = run_isolated(
            [
                *("valgrind", "--tool=callgrind", "--instr-atstart=no"),
                f"--callgrind-out-file={folder}/counts.%p",
                *(str(arm.python), "-m", "streamlab.lab.gate.counted_run", str(spec)),
            ],
            log=log,
            timeout_s=COUNT_TIMEOUT_S,
            # A fixed hash seed gives sets of strings the same order in both arms.
            env={**arm.environment(), "TMPDIR": str(scratch), "PYTHONHASHSEED": "0"},
            folder=folder,
        )
        texts = [path.read_text(encoding="utf-8") for path in folder.glob("counts.*")]
    if outcome.timed_out:
        return (
            f"stopped after {COUNT_TIMEOUT_S:.0f} s under valgrind, which is about fifty times "
            "slower; use fewer events"
        )
    total = sum(int(number) for text in texts for number in _TOTALS.findall(text))
    if outcome.returncode != 0 or total == 0:
        last = " | ".join(last_lines(log, 5))
        return f"it ended with code {outcome.returncode} under valgrind: {last}"
    return total
