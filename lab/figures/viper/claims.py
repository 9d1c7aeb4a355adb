"""Poses the claims of figures 4a and 4b of Viper: CL by OL, configuration by configuration."""

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
    Grid,
    Quantity,
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
    options: Options, quantity: Quantity, select: Callable[[int, int], bool]
) -> list[Measured | None]:
    """Return the ratio of CL to OL for each selected configuration within the cores.

    Args:
        options: the figure's options.
        quantity: the compared quantity.
        select: takes the numbers of injectors and instances, and returns whether to include them.
    """
    within = [n for n in degrees(options) if n <= options.cores]
    return [
        quotient(quantity[CL, injectors].at(n), quantity[OL, injectors].at(n))
        for injectors in within
        for n in within
        if select(injectors, n)
    ]


def _single(injectors: int, _: int) -> bool:
    return injectors == 1


def _several(injectors: int, _: int) -> bool:
    return injectors > 1


def _merged(injectors: int, instances: int) -> bool:
    return injectors > 1 or instances > 1


def _best(
    options: Options, quantity: Quantity, select: Callable[[int, int], bool]
) -> Measured | None:
    """Return the ratio of CL's highest value to OL's highest, within the cores."""
    within = [n for n in degrees(options) if n <= options.cores]

    def best(layer: str) -> Measured | None:
        values = [
            value
            for injectors in within
            for n in within
            if select(injectors, n) and (value := quantity[layer, injectors].at(n)) is not None
        ]
        return Extreme(tuple(values), highest=True) if values else None

    return quotient(best(CL), best(OL))


def _middle(parts: Sequence[Estimate]) -> Estimate:
    """Return the median of several quantities."""
    return Combined(median, tuple(parts))


def claims_of(
    question: Question, options: Options, runs: Runs, energy: Energy, grid: Grid
) -> tuple[Posed, ...]:
    """Pose the claims on configurations with at most as many injectors and instances as cores."""
    rows = [
        row
        for layer in (CL, OL)
        for row in trials(runs[0], f"/{LAYERS}/", f"/{label(layer)}", workers=options.within)
    ]
    # With one injector and one instance nothing is merged.
    needs: tuple[Need, ...] = (several_workers(options, degrees(options)), outputs(rows))
    inf = float("inf")

    def worded_claim(text: str, published_as: str) -> PublishedClaim:
        return PublishedClaim(
            text=text, published=published_as, source=question.source
        ).between(*SIDES).given(*needs)  # fmt: skip

    def fact(quantity: str, x: str = "several") -> Fact:
        return facts().one(figure=question.number, series="CL/OL", quantity=quantity, x=x)

    latency_ratio = all_of(_pairs(options, grid.late, _several), _middle)
    energy_ratio = all_of(_pairs(options, grid.energy, _several), _middle)
    most = facts().one(figure=question.number, series="CL/OL", quantity="throughput at its most")
    claims = [
        worded_claim(
            "CL's throughput by OL's, lowest of what merges at all (3 % for noise)", "higher"
        ).shape(all_of(_pairs(options, grid.rate, _merged), lowest), 0.97, inf, "x"),
        asked("CL's throughput by OL's, highest of all", most)
        .between(*SIDES)
        .given(*needs)
        .near(all_of(_pairs(options, grid.rate, _merged), highest), most.low, most.high, 0.3, "x"),
        worded_claim("CL's latency by OL's with several injectors, median", "lower").shape(
            latency_ratio, 0.0, 1.0, "x"
        ),
        worded_claim(f"CL's {energy.name} by OL's with several injectors, median", "lower").shape(
            energy_ratio, 0.0, 1.0, "x"
        ),
        asked("CL's power by OL's with several injectors, median", fact("power"))
        .between(*SIDES)
        .given(*needs, sweep_points("energy counters that can be read", int(energy.measured), 1))
        .near(energy_ratio, fact("power").low, fact("power").high, 0.2, "x"),
    ]
    if question is POS_REP:
        for x, text, select in (
            ("1", "one injector", _single),
            ("several", "several injectors", _several),
        ):
            rate = fact("throughput", x)
            claims.append(
                asked(f"CL's best throughput by OL's with {text}", rate)
                .between(*SIDES)
                .given(*needs)
                .near(_best(options, grid.rate, select), rate.low, most.high, 0.0, "x")
            )
    return tuple(claims)
