"""What the experiments of all papers share: tables of a matrix, drawn points, judged growth."""

from collections.abc import Iterable, Mapping
from typing import Any

from streamlab.lab.figures.figure import FigureStage, Plan, Runs
from streamlab.lab.figures.judge import PublishedClaim
from streamlab.lab.figures.measurements import Series
from streamlab.lab.figures.options import Options
from streamlab.reports.figures.paper import Point
from streamlab.reports.published import Fact

BATCH = 64

REPETITIONS = 8
"""Fresh processes a cell: with fewer, one that stalled leaves a claim open, as it is not trimmed
(`streamlab.results.stats.estimates.TRIMMED`); and the order statistics of eight hold for up to six claims
together. Most papers average over five runs."""


def run_table(
    options: Options, *, timeout_s: float, repetitions: int = REPETITIONS
) -> dict[str, Any]:
    """Return `[run]`."""
    return {"repetitions": options.repeated(repetitions), "timeout_s": timeout_s, "seed": 1}


def engine(variant: str, options: Options, /, **more: Any) -> dict[str, Any]:
    """Return an `[[engine]]` table; `workers` and `batch` may be given among the others."""
    name, _, own = variant.partition("/")
    return {
        "name": name,
        "variants": [own],
        "workers": list(options.instances),
        "batch": [BATCH],
    } | more


def stage(name: str, about: str, tree: Any) -> FigureStage:
    """Return a figure's only stage, whose matrix is `tree` of the options."""

    def plan(options: Options, runs: Runs) -> Plan:
        return Plan(tree=tree(options))

    return FigureStage(name=name, about=about, plan=plan)


def events(options: Options, usual: int, quick: int) -> int:
    """Return how many input records a trial has: `usual`, or `quick`, or a share of `usual`."""
    if options.scale is not None:
        return max(500, round(usual * options.scale))
    return quick if options.quick else usual


def points(found: Series, options: Options, factor: float = 1.0) -> tuple[Point, ...]:
    """Return what is drawn: medians; low and high over repetitions and swept options."""
    return tuple(
        Point(
            workers,
            max(s.median for s in spreads) * factor,
            min(s.low for s in spreads) * factor,
            max(s.high for s in spreads) * factor,
            workers > options.cores,
        )
        for workers, spreads in found.by_workers.items()
    )


def numbers(**named: Series) -> Mapping[str, Any]:
    """Return series as JSON values."""
    return {
        name: {
            str(workers): [
                {"n": s.n, "median": s.median, "min": s.low, "max": s.high} for s in all_
            ]
            for workers, all_ in found.by_workers.items()
        }
        for name, found in named.items()
    }


def plain(value: float) -> str:
    """Write a tick as it is, without a unit."""
    return f"{value:g}"


def asked(text: str, fact: Fact) -> PublishedClaim:
    """Return the claim that a published fact makes, before it is judged; see `PublishedClaim`."""
    return PublishedClaim(
        text=text, published=fact.text, source=fact.source, relation=fact.relation
    )


def beyond_note(options: Options, degrees: Iterable[int]) -> tuple[str, ...]:
    """Return the note on degrees of parallelism that have no core each; nothing without any."""
    beyond = [n for n in degrees if n > options.cores]
    if not beyond:
        return ()
    return (
        f"{', '.join(map(str, beyond))} instances are more than the cores: hollow marks, "
        "not judged.",
    )


def quick_note(options: Options) -> tuple[str, ...]:
    """Return the note on a quick run; nothing for another."""
    if not options.quick:
        return ()
    return ("A quick run: short, few repetitions. It indicates; it is not to be published.",)


def scale_note(options: Options) -> tuple[str, ...]:
    """Return the note on inputs whose length was chosen; nothing on the usual ones."""
    if options.scale is None:
        return ()
    return (f"Scale {options.scale:g}: inputs are {options.scale:g} x this figure's usual ones.",)
