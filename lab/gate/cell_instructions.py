"""Gates a matrix's cells on the instructions of their timed part, counted by valgrind.

Counts repeat where times do not, so that 5 % are seen on a machine that others use. They are no
times: a cache miss, a stall or a wait counts nothing.
"""

import platform
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from streamlab.lab.gate.advice import checks
from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.counted_run import MACHINE
from streamlab.lab.gate.errors import GateError
from streamlab.lab.gate.instructions import COUNT_TIMEOUT_S, FLOOR, count_line
from streamlab.lab.gate.metrics import INSTRUCTIONS
from streamlab.lab.gate.outcome import GateReport, Line, Word
from streamlab.lab.gate.status import fault_line
from streamlab.lab.gate.trials import Bench, Say, Work, warm_up
from streamlab.lab.isolate.process import run_isolated
from streamlab.lab.trial.spec import EngineTrial, write_job

COUNTS = 2
"""Of each arm, in turn: how far they differ says whether an engine's instructions repeat."""

_TOTALS = re.compile(r"^totals: (\d+)", re.MULTILINE)


def check_valgrind() -> None:
    """Check that this machine can count instructions.

    Raises:
        GateError: it cannot; the message has the remedy.
    """
    if platform.machine() != MACHINE:
        raise GateError(
            f"instructions of a repository are counted on {MACHINE} alone, and this machine is "
            f"{platform.machine()}: gate cpu here (--metric cpu)"
        )
    if shutil.which("valgrind") is None:
        raise GateError(
            "missing: valgrind, which counts instructions; install it: apt-get install -y valgrind "
            "(Debian, Ubuntu) or dnf install -y valgrind (Fedora)"
        )


def check_catch_up(works: Mapping[str, Work]) -> None:
    """Refuse cells with an offered load: what they do depends on the clock.

    Raises:
        GateError: a cell has one.
    """
    for cell, work in works.items():
        if work.job.load is not None:
            raise GateError(
                f"{cell} has an offered load, whose waiting under valgrind is no work: count "
                "catch-up cells (--only), and gate this one on p99"
            )


def count_arms(bench: Bench, old: Arm, new: Arm, say: Say) -> GateReport:
    """Return the outcome for the instructions of a bench's cells in two arms that are built.

    Raises:
        GateError: a cell has an offered load, or an oracle failed.
    """
    check_catch_up(bench.works)
    for arm in (old, new):
        bench.make_oracles(arm, say)
    first = warm_up(bench, old, new, say)
    lines = [
        fault_line(cell, pair) or _line(bench, old, new, cell, say) for cell, pair in first.items()
    ]
    return GateReport(
        old=old.revision,
        new=new.revision,
        rule=f"instructions of the timed part, {COUNTS} counts an arm, effect above {FLOOR:.0%}",
        lines=lines,
        notes=(*checks(first), "answers were compared in a trial of their own, not under valgrind"),
    )


def _line(bench: Bench, old: Arm, new: Arm, cell: str, say: Say) -> Line:
    counts: dict[str, list[int]] = {"old": [], "new": []}
    for number in range(COUNTS):
        for side, arm in (("old", old), ("new", new)):
            log = bench.log(arm, cell)
            found = count(bench.trial(arm, cell), arm, log=log)
            if isinstance(found, str):
                note = f"{side}: {found} ({log})"
                return Line(cell=cell, metric=INSTRUCTIONS, word=Word.NO_NUMBER, note=note)
            counts[side].append(found)
            say(f"{cell}: {side}, count {number + 1} of {COUNTS}: {found:,} instructions")
    return count_line(cell, counts["old"], counts["new"])


def count(job: EngineTrial, arm: Arm, *, log: Path) -> int | str:
    """Return the instructions of a trial's timed part, or why they cannot be counted."""
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
            # The order of sets of texts, and so the work on them, is the same in both arms.
            env={**arm.environment(), "TMPDIR": str(scratch), "PYTHONHASHSEED": "0"},
            folder=folder,
        )
        texts = [path.read_text(encoding="utf-8") for path in folder.glob("counts.*")]
    if outcome.timed_out:
        return (
            f"stopped after {COUNT_TIMEOUT_S:.0f} s under valgrind, where it is some fifty times "
            "slower; use fewer events"
        )
    total = sum(int(found) for text in texts for found in _TOTALS.findall(text))
    if outcome.returncode != 0 or total == 0:
        last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
        return f"it ended with code {outcome.returncode} under valgrind: {' | '.join(last)}"
    return total
