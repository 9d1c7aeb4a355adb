"""Builds what all papers' experiments share: tables of a matrix, drawn points, claims and notes."""

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
"""Default number of fresh processes a cell.
With fewer, a stalled process is not trimmed (`streamlab.results.stats.estimates.TRIMMED`) and leaves a
claim open. The order statistics of eight hold for up to six claims together.
Most papers average over five runs."""


def run_table(
    options: Options, *, timeout_s: float, repetitions: int = REPETITIONS
) -> dict[str, Any]:
    """Return the `[run]` table of a matrix."""
    return {"repetitions": options.repeated(repetitions), "timeout_s": timeout_s, "seed": 1}


def engine(variant: str, options: Options, /, **more: Any) -> dict[str, Any]:
    """Return an `[[engine]]` table of a matrix; `more` may replace `workers` and `batch`."""
    name, _, engine_variant = variant.partition("/")
    return {
        "name": name,
        "variants": [engine_variant],
        "workers": list(options.instances),
        "batch": [BATCH],
    } | more


def stage(name: str, about: str, tree: Any) -> FigureStage:
    """Return the only stage of a figure; `tree` makes its matrix from the options."""

    def plan(options: Options, runs: Runs) -> Plan:
        return Plan(tree=tree(options))

    return FigureStage(name=name, about=about, plan=plan)


def events(options: Options, usual: int, quick: int) -> int:
    """Return a trial's number of input records: `usual`, `quick`, or a share of `usual`."""
    if options.scale is not None:
        return max(500, round(usual * options.scale))
    return quick if options.quick else usual


def points(measured: Series, options: Options, factor: float = 1.0) -> tuple[Point, ...]:
    """Return a series as points: medians, with low and high over repetitions and swept options."""
    return tuple(
        Point(
            workers,
            max(s.median for s in spreads) * factor,
            min(s.low for s in spreads) * factor,
            max(s.high for s in spreads) * factor,
            workers > options.cores,
        )
        for workers, spreads in measured.by_workers.items()
    )


def numbers(**named: Series) -> Mapping[str, Any]:
    """Return series as JSON values."""
    return {
        name: {
            str(workers): [
                {"n": s.n, "median": s.median, "min": s.low, "max": s.high} for s in spreads
            ]
            for workers, spreads in measured.by_workers.items()
        }
        for name, measured in named.items()
    }


def plain(value: float) -> str:
    """Format a tick as a plain number, without a unit."""
    return f"{value:g}"


def asked(text: str, fact: Fact) -> PublishedClaim:
    """Return the claim of a published fact, not yet judged; see `PublishedClaim`."""
    return PublishedClaim(
        text=text, published=fact.text, source=fact.source, relation=fact.relation
    )


def beyond_note(options: Options, degrees: Iterable[int]) -> tuple[str, ...]:
    """Return the note on degrees of parallelism above the number of cores; empty without any."""
    beyond = [n for n in degrees if n > options.cores]
    if not beyond:
        return ()
    return (
        f"{', '.join(map(str, beyond))} instances are more than the cores: hollow marks, "
        "not judged.",
    )


def quick_note(options: Options) -> tuple[str, ...]:
    """Return the note on a quick run; empty for other runs."""
    if not options.quick:
        return ()
    return ("A quick run: short, few repetitions. An indication; do not publish it.",)


def scale_note(options: Options) -> tuple[str, ...]:
    """Return the note on a chosen scale; empty for inputs of the usual length."""
    if options.scale is None:
        return ()
    return (f"Scale {options.scale:g}: inputs are {options.scale:g} x this figure's usual length.",)
