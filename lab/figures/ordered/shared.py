"""What the experiments of the ordered pipelines share: the machine, quantities, degrees.

All of them run as fast as they can and take the paper's *processing latency*: from when the first
operator takes a tuple until what follows from it has left, waiting for its turn included.
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
from streamlab.results.store import Row

ORDERED = "multicore/ordered"
WORKERS = "workers"
TUPLE, BLOCK = 1, 64
"""Batches: the paper's tuple at a time, and this lab's usual block."""
NS_PER_ITERATION = 2.0
"""About what one takes on a core of the 2.6 GHz class; costs in time are nominal by this."""
NOISE = 0.97
"""What counts as not slower: medians of few runs of one program differ by as much."""
BY_OPERATOR = {"serials": "operator"}
"""The paper's own system: a fresh serial number for each operator's inputs. Figures 8, 11, 13 and
14 are judged by it; 9, 10 and 12 have one operator, whose serial numbers are the source's."""
SOURCE_NOTE = (
    "This lab's own form, drawn beside and not judged: a block of input records keeps one serial "
    "number of the source with all that follows from it."
)
RATE = column("throughput_eps")
LATENCY = counter("processing_mean_ns", 1e-6)

FULL_LATENCY_NOTE = (
    "Latency is the paper's processing latency, its mean at full speed; one tuple in 64 is timed."
)


def facts() -> Facts:
    """Return what the paper published."""
    return published("ordered")


def iterations(cost_us: float) -> int:
    """Return the iterations of the parametric operator for a nominal cost."""
    return round(cost_us * 1000 / NS_PER_ITERATION)


def several(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers above one; all of them where there is no other."""
    return tuple(n for n in options.instances if n > 1) or options.instances


def with_one(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers, and one of them, by which speedups are taken."""
    return tuple(sorted({1, *options.instances}))


def crowded(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers; by default also twice the cores, where workers are blocked."""
    if options.workers is not None:
        return with_one(options)
    return tuple(sorted({*options.instances, 2 * options.cores}))


def by_source(scheme: str) -> str:
    """Return the label of a scheme in this lab's own form, with serials of the source."""
    return f"source-{scheme}"


def notes(options: Options, runs: Runs, degrees: Iterable[int], *more: str) -> tuple[str, ...]:
    """Return what sets the experiment apart from the paper's.

    Args:
        options: of the figure.
        runs: its runs; cells without a number are named.
        degrees: numbers of workers that it has.
        more: what this figure has to say itself.
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


def spot(x: float, found: Spread | None, *, is_open: bool = False, factor: float = 1.0) -> Any:
    """Return a point in a tuple, or nothing without a value."""
    if found is None:
        return ()
    return (
        Point(x, found.median * factor, found.low * factor, found.high * factor, is_open),
    )  # fmt: skip


def spread_numbers(found: Mapping[str, Spread | None]) -> dict[str, Any]:
    """Return spreads as JSON values; those without a value are left out."""
    return {
        name: {"n": s.n, "median": s.median, "min": s.low, "max": s.high}
        for name, s in found.items()
        if s is not None
    }


def said(text: str, published_as: str, source: str) -> PublishedClaim:
    """Return a claim that the paper makes in words, before it is judged."""
    return PublishedClaim(text=text, published=published_as, source=source)


def in_order(options: Options, rows: Sequence[Row]) -> tuple[Need, Need]:
    """Return the needs of claims on workers that put outputs in order: several workers, outputs.

    A single worker makes outputs in order, whatever the queue, the buffer or the heuristic.
    """
    return several_workers(options), outputs(rows)
