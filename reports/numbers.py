"""Writes numbers for people: three significant digits and a unit, with the exact value kept."""

import math
from dataclasses import dataclass

_SI = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))
SHORTEST_NS = 100.0
"""Below it a latency is the price of reading the clock rather than a delay."""
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number as it is shown, and exactly.

    Attributes:
        text: three significant digits, with a unit.
        exact: the whole value in its base unit; goes into the `title` attribute.
    """

    text: str
    exact: str


def rate(eps: float) -> Quantity:
    """Write a rate in events/s, for example `412 M/s`."""
    return Quantity(text=f"{_scaled(eps, _SI)}/s", exact=f"{eps:,.0f} events/s")


def count(value: float) -> Quantity:
    """Write a count, for example `40 M`."""
    number, _, unit = _scaled(value, _SI).partition(" ")
    short = number.rstrip("0").rstrip(".") if "." in number else number
    return Quantity(text=f"{short} {unit}".strip(), exact=f"{value:,.0f}")


def plain(value: float) -> Quantity:
    """Write a number whose unit its name says, for example `0.152` or `6,000,000`."""
    whole = value == int(value)
    return Quantity(text=f"{value:,.0f}" if whole else digits(value), exact=f"{value:,.9g}")


def duration(ns: float) -> Quantity:
    """Write a time given in nanoseconds, for example `1.24 µs`."""
    exact = f"{ns:,.0f} ns" if ns >= 100 or ns == int(ns) else f"{ns:,.3f} ns"
    for index, (factor, unit) in enumerate(_TIMES):
        if abs(ns) >= factor or index == len(_TIMES) - 1:
            if index and digits(ns / factor) == "1000":
                factor, unit = _TIMES[index - 1]
            return Quantity(text=f"{digits(ns / factor)} {unit}", exact=exact)
    raise AssertionError("unreachable: the last unit takes every value")


def latency(ns: float) -> Quantity:
    """Write a latency given in nanoseconds; reading the clock twice takes some 30 of them."""
    known = duration(ns)
    return known if ns >= SHORTEST_NS else Quantity(text="< 0.1 µs", exact=known.exact)


def seconds(value: float) -> Quantity:
    """Write a time given in seconds, for example `9.82 ms`."""
    return duration(value * 1e9)


def memory(size_bytes: float) -> Quantity:
    """Write a size in bytes with binary units, for example `1.2 GiB`."""
    exact = f"{size_bytes:,.0f} bytes"
    for factor, unit in _BINARY:
        if size_bytes >= factor:
            return Quantity(text=f"{digits(size_bytes / factor)} {unit}", exact=exact)
    return Quantity(text=f"{size_bytes:.0f} B", exact=exact)


def joules(value: float) -> Quantity:
    """Write an energy, for example `1.20 mJ`."""
    return Quantity(text=_small(value, "J"), exact=f"{value:.9g} J")


def watts(value: float) -> Quantity:
    """Write a power, for example `23.4 W`."""
    return Quantity(text=_small(value, "W"), exact=f"{value:.9g} W")


def share(value: float) -> Quantity:
    """Write a part of a whole, for example `99.95 %`; it is rounded down, never up to all of it."""
    floored = math.floor(value * 1e4) / 1e2
    return Quantity(text=f"{floored:g} %", exact=f"{value:.9g}")


def growth(eps: float) -> Quantity:
    """Write a change of a count with its sign, for example `+1.20 k/s`."""
    text = f"{_scaled(abs(eps), _SI)}/s"
    sign = "\N{MINUS SIGN}" if eps < 0 else "+" if eps > 0 else ""
    return Quantity(text=sign + text, exact=f"{eps:+,.6g} events/s")


def ratio(value: float) -> Quantity:
    """Write a quotient, for example `212 x` with the multiplication sign."""
    return Quantity(text=f"{digits(value)} \N{MULTIPLICATION SIGN}", exact=f"{value:.6g} times")


def number_of(n: int, noun: str, nouns: str = "") -> str:
    """Write how many there are: `1 cell`, `2 cells`; `nouns` where that takes more than an s."""
    return f"{n} {noun if n == 1 else nouns or noun + 's'}"


def counted_workers(workers: int) -> str:
    """Write a number of workers: `1 worker`, `2 workers`."""
    return number_of(workers, "worker")


def low_end(low: Quantity, high: Quantity) -> Quantity:
    """Return the low end of a range, without its unit where the high end has the same."""
    number, _, unit = low.text.rpartition(" ")
    shared = number and unit == high.text.rpartition(" ")[2]
    return Quantity(text=number, exact=low.exact) if shared else low


def digits(value: float) -> str:
    """Write a number with three significant digits (whole numbers above that in full)."""
    magnitude = abs(value)
    if magnitude >= 99.95 or value == 0:
        return f"{value:.0f}" if magnitude < 9_999.5 else f"{value:,.0f}"
    if magnitude >= 0.9995:
        return f"{value:.1f}" if magnitude >= 9.995 else f"{value:.2f}"
    return f"{value:.3g}"


def short(text: str) -> str:
    """Leave out digits that a round tick does not have: `1.00 ms` is `1 ms`."""
    number, gap, unit = text.partition(" ")
    if "." not in number:
        return text
    return f"{number.rstrip('0').rstrip('.')}{gap}{unit}"


def _small(value: float, unit: str) -> str:
    for factor, prefix in ((1.0, ""), (1e-3, "m"), (1e-6, "µ")):
        if abs(value) >= factor * 0.9995:
            return f"{digits(value / factor)} {prefix}{unit}"
    return f"{digits(value)} {unit}" if value == 0 else f"{digits(value / 1e-6)} µ{unit}"


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    for index, (factor, unit) in enumerate(units):
        if abs(value) >= factor * 0.9995:
            if index and digits(value / factor) == "1000":
                factor, unit = units[index - 1]
            return f"{digits(value / factor)} {unit}"
    return f"{digits(value)} "
