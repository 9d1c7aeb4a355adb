"""Formats numbers for readers: three significant digits with a unit, and the exact value."""

import math
from dataclasses import dataclass

_SI = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = {2.0**40: "TiB", 2.0**30: "GiB", 2.0**20: "MiB", 2.0**10: "KiB", 1.0: "B"}
SHORTEST_NS = 100.0
"""Shortest latency that is a delay; a shorter latency is the cost of reading the clock."""
LEAST_RATIO = 0.01
"""Smallest ratio that is not written as its inverse."""
UNCLEAR = "~"
"""Marks a ratio that shows no difference."""
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A formatted number.

    Attributes:
        text: three significant digits, with a unit.
        exact: the full value in its base unit, for the `title` attribute.
    """

    text: str
    exact: str


def rate(eps: float) -> Quantity:
    """Format a rate in events/s, for example `412 M/s`."""
    return Quantity(text=f"{_in_unit(eps, _SI)}/s", exact=f"{eps:,.0f} events/s")


def count(value: float) -> Quantity:
    """Format a count, for example `40 M`."""
    number, _, unit = _in_unit(value, _SI).partition(" ")
    trimmed = number.rstrip("0").rstrip(".") if "." in number else number
    return Quantity(text=f"{trimmed} {unit}".strip(), exact=f"{value:,.0f}")


def plain(value: float) -> Quantity:
    """Format a number without a unit, for example `0.152` or `6,000,000`."""
    is_integer = value == int(value)
    return Quantity(text=f"{value:,.0f}" if is_integer else digits(value), exact=f"{value:,.9g}")


def duration(ns: float) -> Quantity:
    """Format a time in nanoseconds, for example `1.24 µs`."""
    exact = f"{ns:,.0f} ns" if ns >= 100 or ns == int(ns) else f"{ns:,.3f} ns"
    return Quantity(text=_in_unit(ns, _TIMES, "ns"), exact=exact)


def latency(ns: float) -> Quantity:
    """Format a latency in nanoseconds; below SHORTEST_NS as `< 100 ns`, since reading the clock takes 30 ns."""
    quantity = duration(ns)
    if ns >= SHORTEST_NS:
        return quantity
    return Quantity(text=f"< {duration(SHORTEST_NS).text}", exact=quantity.exact)


def seconds(value: float) -> Quantity:
    """Format a time in seconds, for example `9.82 ms`."""
    return duration(value * 1e9)


def memory(size_bytes: float, unit: float | None = None) -> Quantity:
    """Format a size in bytes, for example `1.2 GiB`; by default in the unit of `memory_unit`."""
    factor = memory_unit(size_bytes) if unit is None else unit
    return Quantity(
        text=f"{digits(size_bytes / factor)} {_BINARY[factor]}", exact=f"{size_bytes:,.0f} bytes"
    )


def memory_unit(size_bytes: float) -> float:
    """Return, in bytes, the largest binary unit that does not exceed a size."""
    return next((factor for factor in _BINARY if size_bytes >= factor), 1.0)


def joules(value: float) -> Quantity:
    """Format an energy in joules, for example `1.20 mJ`."""
    return Quantity(text=_small(value, "J"), exact=f"{value:.9g} J")


def watts(value: float) -> Quantity:
    """Format a power in watts, for example `23.4 W`."""
    return Quantity(text=_small(value, "W"), exact=f"{value:.9g} W")


def share(value: float) -> Quantity:
    """Format a share, for example `99.95 %`; rounds down, so that only 1 is 100 %."""
    floored = math.floor(value * 1e4) / 1e2
    return Quantity(text=f"{floored:g} %", exact=f"{value:.9g}")


def growth(eps: float) -> Quantity:
    """Format a signed rate of change in events/s, for example `+1.20 k/s`."""
    text = f"{_in_unit(abs(eps), _SI)}/s"
    sign = "\N{MINUS SIGN}" if eps < 0 else "+" if eps > 0 else ""
    return Quantity(text=sign + text, exact=f"{eps:+,.6g} events/s")


def times(value: float, base: str) -> Quantity:
    """Format a ratio of rates to a base: `1.8 x NumPy`, and `540 x slower than NumPy` below 0.01."""
    is_slower = value < LEAST_RATIO
    text = f"{digits(1 / value if is_slower else value)} \N{MULTIPLICATION SIGN}"
    return Quantity(
        text=f"{text} {'slower than ' if is_slower else ''}{base}",
        exact=f"{value:.6g} times {base}",
    )


def unit_words(batch: int | None) -> str:
    """Describe a batch size: `one event at a time`, `blocks of 4,096`; empty without one."""
    if batch is None:
        return ""
    return "one event at a time" if batch == 1 else f"blocks of {batch:,}"


def number_of(n: int, noun: str, nouns: str = "") -> str:
    """Format a number with a noun: `1 cell`, `2 cells`; `nouns` is an irregular plural."""
    return f"{n} {noun if n == 1 else nouns or noun + 's'}"


def counted_workers(workers: int) -> str:
    """Format a number of workers: `1 worker`, `2 workers`."""
    return number_of(workers, "worker")


def low_end(low: Quantity, high: Quantity) -> Quantity:
    """Return the low end of a range, without its unit if the high end has the same unit."""
    number, _, unit = low.text.rpartition(" ")
    has_same_unit = number and unit == high.text.rpartition(" ")[2]
    return Quantity(text=number, exact=low.exact) if has_same_unit else low


def digits(value: float) -> str:
    """Format a number with three significant digits, but with all digits of its integer part."""
    magnitude = abs(value)
    # The bounds are the values that round to 100, 10,000, 1 and 10.
    if magnitude >= 99.95 or value == 0:
        return f"{value:.0f}" if magnitude < 9_999.5 else f"{value:,.0f}"
    if magnitude >= 0.9995:
        return f"{value:.1f}" if magnitude >= 9.995 else f"{value:.2f}"
    return f"{value:.3g}"


def short(text: str) -> str:
    """Remove trailing zeros of a round tick: `1.00 ms` becomes `1 ms`."""
    number, gap, unit = text.partition(" ")
    if "." not in number:
        return text
    return f"{number.rstrip('0').rstrip('.')}{gap}{unit}"


def _small(value: float, unit: str) -> str:
    for factor, prefix in ((1.0, ""), (1e-3, "m"), (1e-6, "µ")):
        if abs(value) >= factor * 0.9995:
            return f"{digits(value / factor)} {prefix}{unit}"
    return f"{digits(value)} {unit}" if value == 0 else f"{digits(value / 1e-6)} µ{unit}"


def _in_unit(value: float, units: tuple[tuple[float, str], ...], base: str = "") -> str:
    """Format a value with three digits in the largest unit that does not exceed the rounded value."""
    for factor, unit in units:
        if abs(value) >= factor * 0.9995:
            return f"{digits(value / factor)} {unit}"
    return f"{digits(value)} {base}"
