"""What the experiments of STRETCH share: the machine's notes, and a claim."""

from collections.abc import Mapping
from typing import Any

from streamlab.lab.figures.experiment import asked, beyond_note, quick_note
from streamlab.lab.figures.figure import Runs
from streamlab.lab.figures.judge import Posed
from streamlab.lab.figures.measurements import machine, troubles
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import Need
from streamlab.lab.figures.stretch.systems import OPERATOR_10
from streamlab.reports.published import Facts, published
from streamlab.results.stats.estimates import Estimate

VSN, SN, SN_MAP = "multicore/vsn", "multicore/sn", "multicore/sn-map"
ALGORITHM_1 = "lab: SN, algorithm 1"
"""Name of this lab's shared-nothing instances, which are not Flink."""
PAPER_CORES = 36
DOWNSTREAM: Mapping[str, Any] = {"downstream": 1}
"""Engine option: instances publish into TB_out, and latency ends where a reader behind it takes
their outputs, in order, as in the paper."""


def facts() -> Facts:
    """Return what the paper published."""
    return published("stretch")


def notes(options: Options, scale: float, runs: Runs, *more: str) -> tuple[str, ...]:
    """Return what sets the experiment apart from the paper's."""
    found = [
        f"{options.cores} cores here; the paper's machine: 2 x 18 cores, 72 hardware threads, Java."
    ]
    if scale != 1:
        found.append(f"Scale {scale:g}: inputs, phases and windows are {scale:g} x the paper's.")
    found.append(
        "VSN and this lab's SN publish into TB_out; one downstream reader takes their outputs."
    )
    found += [*quick_note(options), *beyond_note(options, options.instances)]
    return (*found, *more, *machine(runs), *troubles(runs)[:6])


def longest_reconfiguration(text: str, ms: Estimate | None, *needs: Need) -> Posed:
    """Pose the claim on reconfiguration times by what figure 9 says of all of them.

    Args:
        text: of the claim.
        ms: each trial's longest.
        needs: the needs of the claim.
    """
    took = facts().one(figure="9", series="all", quantity="duration")
    return asked(text, took).of(OPERATOR_10).given(*needs).at_most(ms, took.high, "ms")
