"""Judges figures 4a and 4b of Viper: CL by OL, configuration by configuration."""

from collections.abc import Callable, Iterable

from lab.figures.experiment import asked
from lab.figures.measured import middle, quotient
from lab.figures.options import Options
from lab.figures.verdict import Asked, Claim
from lab.figures.viper.grid import (
    CL,
    NO_COUNTER,
    OL,
    POS_REP,
    Energy,
    Found,
    Grid,
    Question,
    degrees,
    facts,
)
from reports.published import Fact


def _pairs(
    options: Options, found: Found, wanted: Callable[[int, int], bool]
) -> list[float | None]:
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


def _best(options: Options, found: Found, wanted: Callable[[int, int], bool]) -> float | None:
    """Return the highest of CL by the highest of OL, within the cores."""
    within = [n for n in degrees(options) if n <= options.cores]

    def highest(layer: str) -> float | None:
        values = [
            found[layer, injectors].at(n)
            for injectors in within
            for n in within
            if wanted(injectors, n)
        ]
        return max((value for value in values if value is not None), default=None)

    return quotient(highest(CL), highest(OL))


def _all(values: Iterable[float | None], pick: Callable[[list[float]], float]) -> float | None:
    """Return what is picked; None unless every value is there."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return pick(known) if known and len(known) == len(listed) else None


def claims_of(
    question: Question, options: Options, energy: Energy, grid: Grid
) -> tuple[Claim, ...]:
    """Return the claims, judged where injectors and instances each have no more than the cores."""
    blocked = (
        None
        if [n for n in degrees(options) if 1 < n <= options.cores]
        else "what is merged needs two injectors or instances within the cores"
    )
    inf = float("inf")

    def words(text: str, published_as: str) -> Asked:
        return Asked(text=text, published=published_as, source=question.source, blocked=blocked)

    def fact(quantity: str, x: str = "several") -> Fact:
        return facts().one(figure=question.number, series="CL/OL", quantity=quantity, x=x)

    late = middle(_pairs(options, grid.late, _several))
    used = middle(_pairs(options, grid.energy, _several))
    most = facts().one(figure=question.number, series="CL/OL", quantity="throughput at its most")
    unread = blocked or (None if energy.measured else NO_COUNTER)
    claims = [
        words(
            "CL's throughput by OL's, lowest of what merges at all (3 % for noise)", "higher"
        ).shape(_all(_pairs(options, grid.rate, _merged), min), 0.97, inf, "x"),
        asked("CL's throughput by OL's, highest of all", most, blocked).near(
            _all(_pairs(options, grid.rate, _merged), max), most.low, most.high, 0.3, "x"
        ),
        words("CL's latency by OL's with several injectors, median", "lower").shape(
            late, 0.0, 1.0, "x"
        ),
        words(f"CL's {energy.name} by OL's with several injectors, median", "lower").shape(
            used, 0.0, 1.0, "x"
        ),
        asked("CL's power by OL's with several injectors, median", fact("power"), unread).at_most(
            used, fact("power").high * 1.1, "x"
        ),
    ]
    if question is POS_REP:
        for x, text, wanted in (
            ("1", "one injector", _one),
            ("several", "several injectors", _several),
        ):
            rate = fact("throughput", x)
            claims.append(
                asked(f"CL's best throughput by OL's with {text}", rate, blocked).at_least(
                    _best(options, grid.rate, wanted), rate.low, "x"
                )
            )
    return tuple(claims)
