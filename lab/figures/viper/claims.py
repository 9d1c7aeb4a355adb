"""Judges figures 4a and 4b of Viper: CL by OL, configuration by configuration."""

from collections.abc import Callable, Sequence
from statistics import median

from streamlab.lab.figures.experiment import asked
from streamlab.lab.figures.figure import Runs
from streamlab.lab.figures.judge import Posed, PublishedClaim
from streamlab.lab.figures.measurements import Measured, all_of, quotient
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import Need, outputs, several_workers, sweep_points, trials
from streamlab.lab.figures.viper.grid import (
    CL,
    LAYERS,
    OL,
    POS_REP,
    Energy,
    Found,
    Grid,
    Question,
    degrees,
    facts,
    label,
)
from streamlab.lab.figures.viper.systems import STORM, VIPER
from streamlab.reports.published import Fact
from streamlab.results.stats.estimates import Combined, Estimate, Extreme, highest, lowest

SIDES = (VIPER, STORM)


def _pairs(
    options: Options, found: Found, wanted: Callable[[int, int], bool]
) -> list[Measured | None]:
    """Return CL by OL for each configuration within the cores that is wanted.

    Args:
        options: of the figure.
        found: a quantity.
        wanted: takes the numbers of injectors and of instances.
    """
    within = [n for n in degrees(options) if n <= options.cores]
    return [
        quotient(found[CL, injectors].at(n), found[OL, injectors].at(n))
        for injectors in within
        for n in within
        if wanted(injectors, n)
    ]


def _one(injectors: int, _: int) -> bool:
    return injectors == 1


def _several(injectors: int, _: int) -> bool:
    return injectors > 1


def _merged(injectors: int, instances: int) -> bool:
    return injectors > 1 or instances > 1


def _best(options: Options, found: Found, wanted: Callable[[int, int], bool]) -> Measured | None:
    """Return the highest of CL by the highest of OL, within the cores."""
    within = [n for n in degrees(options) if n <= options.cores]

    def best(layer: str) -> Measured | None:
        values = [
            value
            for injectors in within
            for n in within
            if wanted(injectors, n) and (value := found[layer, injectors].at(n)) is not None
        ]
        return Extreme(tuple(values), highest=True) if values else None

    return quotient(best(CL), best(OL))


def _middle(parts: Sequence[Estimate]) -> Estimate:
    """Return the median of several quantities."""
    return Combined(median, tuple(parts))


def claims_of(
    question: Question, options: Options, runs: Runs, energy: Energy, grid: Grid
) -> tuple[Posed, ...]:
    """Pose the claims where injectors and instances each have no more than the cores."""
    rows = [
        row
        for layer in (CL, OL)
        for row in trials(runs[0], f"/{LAYERS}/", f"/{label(layer)}", workers=options.within)
    ]
    # With one injector and one instance nothing is merged.
    merged: tuple[Need, ...] = (several_workers(options, degrees(options)), outputs(rows))
    inf = float("inf")

    def words(text: str, published_as: str) -> PublishedClaim:
        return PublishedClaim(
            text=text, published=published_as, source=question.source
        ).between(*SIDES).given(*merged)  # fmt: skip

    def fact(quantity: str, x: str = "several") -> Fact:
        return facts().one(figure=question.number, series="CL/OL", quantity=quantity, x=x)

    late = all_of(_pairs(options, grid.late, _several), _middle)
    used = all_of(_pairs(options, grid.energy, _several), _middle)
    most = facts().one(figure=question.number, series="CL/OL", quantity="throughput at its most")
    claims = [
        words(
            "CL's throughput by OL's, lowest of what merges at all (3 % for noise)", "higher"
        ).shape(all_of(_pairs(options, grid.rate, _merged), lowest), 0.97, inf, "x"),
        asked("CL's throughput by OL's, highest of all", most)
        .between(*SIDES)
        .given(*merged)
        .near(all_of(_pairs(options, grid.rate, _merged), highest), most.low, most.high, 0.3, "x"),
        words("CL's latency by OL's with several injectors, median", "lower").shape(
            late, 0.0, 1.0, "x"
        ),
        words(f"CL's {energy.name} by OL's with several injectors, median", "lower").shape(
            used, 0.0, 1.0, "x"
        ),
        asked("CL's power by OL's with several injectors, median", fact("power"))
        .between(*SIDES)
        .given(*merged, sweep_points("energy counters that can be read", int(energy.measured), 1))
        .near(used, fact("power").low, fact("power").high, 0.2, "x"),
    ]
    if question is POS_REP:
        for x, text, wanted in (
            ("1", "one injector", _one),
            ("several", "several injectors", _several),
        ):
            rate = fact("throughput", x)
            claims.append(
                asked(f"CL's best throughput by OL's with {text}", rate)
                .between(*SIDES)
                .given(*merged)
                .near(_best(options, grid.rate, wanted), rate.low, most.high, 0.0, "x")
            )
    return tuple(claims)
