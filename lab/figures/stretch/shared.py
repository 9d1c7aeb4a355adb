"""Provides variants, notes and a claim that several experiments of STRETCH share."""

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
"""Name of this lab's shared-nothing instances, to distinguish them from the paper's Flink."""
PAPER_CORES = 36
DOWNSTREAM: Mapping[str, Any] = {"downstream": 1}
"""Engine option: instances publish into TB_out, and latency ends when a downstream reader takes their
outputs, in order, as in the paper."""


def facts() -> Facts:
    """Return the paper's published numbers."""
    return published("stretch")


def notes(options: Options, scale: float, runs: Runs, *more: str) -> tuple[str, ...]:
    """Return notes on differences from the paper's experiment."""
    texts = [
        f"{options.cores} cores here; the paper's machine: 2 x 18 cores, 72 hardware threads, Java."
    ]
    if scale != 1:
        texts.append(f"Scale {scale:g}: inputs, phases and windows are {scale:g} x the paper's.")
    texts.append(
        "VSN and this lab's SN publish into TB_out; one downstream reader takes their outputs."
    )
    texts += [*quick_note(options), *beyond_note(options, options.instances)]
    return (*texts, *more, *machine(runs), *troubles(runs)[:6])


def longest_reconfiguration(text: str, ms: Estimate | None, *needs: Need) -> Posed:
    """Pose the claim on reconfiguration times, with the bound of figure 9 for all of them.

    Args:
        text: the claim's text.
        ms: longest reconfiguration of each trial, in ms.
        needs: preconditions of the claim.
    """
    fact = facts().one(figure="9", series="all", quantity="duration")
    return asked(text, fact).of(OPERATOR_10).given(*needs).at_most(ms, fact.high, "ms")
