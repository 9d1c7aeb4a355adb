"""Provides the quantities, degrees, claims and notes that the ordered pipelines' figures share.

All experiments run at full speed and measure the paper's *processing latency*: from when the first
operator takes a tuple until its outputs have left, including the wait for their turn.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from streamlab.lab.figures.experiment import beyond_note, quick_note, scale_note
from streamlab.lab.figures.figure import Runs
from streamlab.lab.figures.judge import PublishedClaim
from streamlab.lab.figures.measurements import column, counter, machine, troubles
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import Need, outputs, several_workers
from streamlab.reports.figures.paper import Point
from streamlab.reports.published import Facts, published
from streamlab.results.query import Spread
from streamlab.results.schema import TrialRow

ORDERED = "multicore/ordered"
WORKERS = "workers"
TUPLE, BLOCK = 1, 64
"""Batches: the paper's tuple at a time, and this lab's usual block."""
NS_PER_ITERATION = 2.0
"""Approximate time of an iteration on a 2.6 GHz core; it converts iterations to nominal costs."""
NOISE = 0.97
"""Lowest ratio that counts as not slower: medians of few runs of one program differ by as much."""
BY_OPERATOR = {"serials": "operator"}
"""Options of the paper's system: a fresh serial number for each operator's inputs. It judges figures
8, 11, 13 and 14. Figures 9, 10 and 12 have one operator, with serial numbers of the source."""
SOURCE_NOTE = (
    "This lab's own form, drawn but not judged: a block of input records and all its outputs have "
    "one serial number, of the source."
)
RATE = column("throughput_eps")
LATENCY = counter("processing_mean_ns", 1e-6)

FULL_LATENCY_NOTE = (
    "Latency is the paper's processing latency, its mean at full speed; one tuple in 64 is timed."
)


def facts() -> Facts:
    """Return the paper's published numbers."""
    return published("ordered")


def iterations(cost_us: float) -> int:
    """Return the iterations of the parametric operator for a nominal cost."""
    return round(cost_us * 1000 / NS_PER_ITERATION)


def several(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers above one, or all if there are none above one."""
    return tuple(n for n in options.instances if n > 1) or options.instances


def with_one(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers, including one as the base of speedups."""
    return tuple(sorted({1, *options.instances}))


def crowded(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers; the default includes twice the cores, where workers block."""
    if options.workers is not None:
        return with_one(options)
    return tuple(sorted({*options.instances, 2 * options.cores}))


def by_source(scheme: str) -> str:
    """Return the label of a scheme in this lab's own form, with serials of the source."""
    return f"source-{scheme}"


def notes(options: Options, runs: Runs, degrees: Iterable[int], *more: str) -> tuple[str, ...]:
    """Return notes on differences from the paper's experiment.

    Args:
        options: the figure's options.
        runs: the figure's runs; the notes name cells without a number.
        degrees: the figure's numbers of workers.
        more: further notes of this figure.
    """
    return (
        f"{options.cores} cores here; the paper's machine: 16 cores (Xeon E5-2698B v3), C++, trials"
        " of 2 to 10 minutes.",
        *quick_note(options),
        *scale_note(options),
        *beyond_note(options, degrees),
        *more,
        *machine(runs),
        *troubles(runs)[:6],
    )


def spot(x: float, spread: Spread | None, *, is_open: bool = False, factor: float = 1.0) -> Any:
    """Return a tuple with a point, or an empty tuple without a value."""
    if spread is None:
        return ()
    return (
        Point(x, spread.median * factor, spread.low * factor, spread.high * factor, is_open),
    )  # fmt: skip


def spread_numbers(spreads: Mapping[str, Spread | None]) -> dict[str, Any]:
    """Return the spreads that have a value as JSON values."""
    return {
        name: {"n": s.n, "median": s.median, "min": s.low, "max": s.high}
        for name, s in spreads.items()
        if s is not None
    }


def worded_claim(text: str, published_as: str, source: str) -> PublishedClaim:
    """Return a claim that the paper makes in words, not yet judged."""
    return PublishedClaim(text=text, published=published_as, source=source)


def in_order(options: Options, rows: Sequence[TrialRow]) -> tuple[Need, Need]:
    """Return the needs of claims on reordering: several workers and outputs.

    A single worker makes outputs in order with any queue, buffer or heuristic.
    """
    return several_workers(options), outputs(rows)
