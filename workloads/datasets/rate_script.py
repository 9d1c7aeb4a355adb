"""Computes event times of streams whose rate changes by a script.

More tuples fall into a window of event time only if event times are closer together. Offering tuples with steady event
times faster would shorten the window's real time by the same factor. So an experiment on changing work (STRETCH, 8.4
and 8.5) has its rates in the input, and offers the input as recorded (`arrival = "replay"`).

A script states the factors, in thousandths, that multiply the stream's base rate, and when each factor begins:

    steady                                  factor 1 always
    step(AT_MS, PERMILLE)                   a factor from AT_MS on
    phases(LEAST_MS, MAX_MS, LOW, HIGH)    consecutive phases; the seed determines the length and the
                                            factor of each, uniformly from these bounds

`phases(100000, 300000, 63, 1000)` on two streams of 4,000 t/s each is section 8.5: phases of 100 to 300 s with 504 to
8,000 t/s together. All arithmetic uses integers, so results are the same on every machine.
"""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.random import below, draw
from streamlab.workloads.model import ModelError

IntArray = npt.NDArray[np.int64]

STEADY, STEP, PHASES = "steady", "step", "phases"
FORMS = "steady, step(AT_MS, PERMILLE) or phases(LEAST_MS, MAX_MS, LOW, HIGH)"
_PLAIN = 1000
"""The factor 1 in thousandths."""
_UNIT = 1000 * _PLAIN
"""One tuple, in units of rate (t/s) x factor (thousandths) x time (ms)."""
_DRAWN = 256
"""Number of phases drawn at first. It doubles each time more are needed."""
_STREAM = 1 << 31
"""The stream index for the random numbers of phases, beyond that of any stream."""
_LENGTH, _FACTOR = range(2)
"""Lanes of the random numbers of a phase."""
_MAX_MS = 10**9
_MAX_PERMILLE = 10**6
"""With these limits sums over phases stay below 2^63 for any input that fits on a disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateScript:
    """A script, made by `parse_rates`.

    Attributes:
        form: STEADY, STEP or PHASES.
        values: the numbers of the script, in its order.
    """

    form: str
    values: tuple[int, ...]

    def times_ms(self, tuples: IntArray, rate_eps: int, seed: int) -> IntArray:
        """Return the event times of tuples, given their numbers.

        Tuple g of a steady stream is at floor(1000 g / rate_eps). Other streams are steady within each phase.

        Args:
            tuples: int64[n], ascending numbers in the logical stream, from 0.
            rate_eps: the stream's base rate, at least 1.
            seed: determines the phases; streams with the same seed change together.

        Returns:
            int64[n], ms of event time, non-decreasing.
        """
        if len(tuples) == 0:
            return tuples.astype(np.int64)
        scaled = tuples.astype(np.int64) * _UNIT
        units = scaled // rate_eps
        starts, factors, units_before = self._timeline(int(units[-1]), seed)
        phase = np.searchsorted(units_before, units, side="right") - 1
        return starts[phase] + (scaled - units_before[phase] * rate_eps) // (
            factors[phase] * rate_eps
        )

    def changes(self, until_ms: int, seed: int) -> tuple[IntArray, IntArray]:
        """Return the start times (ms) and factors of the phases that begin before `until_ms`."""
        starts, factors, _ = self._timeline(0, seed, until_ms)
        has_begun = starts < until_ms
        return starts[has_begun], factors[has_begun]

    def _timeline(
        self, units: int, seed: int, until_ms: int = 0
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return for each phase its start, its factor, and the units sent before it at 1 t/s.

        The phases reach beyond `units` and beyond `until_ms`.
        """
        if self.form == STEADY:
            starts, factors = [0], [_PLAIN]
        elif self.form == STEP:
            starts, factors = [0, self.values[0]], [_PLAIN, self.values[1]]
        else:
            return self._draw(units, seed, until_ms)
        lengths = np.diff(np.array(starts, dtype=np.int64))
        units_before = np.append(0, np.cumsum(lengths * np.array(factors[:-1], dtype=np.int64)))
        return np.array(starts), np.array(factors), units_before.astype(np.int64)

    def _draw(self, units: int, seed: int, until_ms: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return the random timeline of a script of PHASES; see `_timeline`."""
        least_ms, most_ms, low, high = self.values
        lengths = factors = np.empty(0, dtype=np.int64)
        while True:
            begin, end = len(lengths), max(_DRAWN, 2 * len(lengths))
            length = below(draw(seed, _STREAM, _LENGTH, begin, end), most_ms - least_ms + 1)
            factor = below(draw(seed, _STREAM, _FACTOR, begin, end), high - low + 1)
            lengths = np.append(lengths, least_ms + length)
            factors = np.append(factors, low + factor)
            ends = np.cumsum(lengths)
            units_before = np.append(0, np.cumsum(lengths * factors))
            if units_before[-1] > units and ends[-1] >= until_ms:
                return np.append(0, ends[:-1]), factors, units_before[:-1]


def parse_rates(text: str, where: str) -> RateScript:
    """Return the script that a parameter's text describes.

    Raises:
        ModelError: the form is unknown, or a number is out of range.
    """
    parsed = re.fullmatch(r"\s*(\w+)\s*(?:\(([\d\s,_]*)\))?\s*", text)
    if parsed is None or parsed[1] not in (STEADY, STEP, PHASES):
        raise ModelError(f"{where} is {text!r}; expected {FORMS}")
    form = parsed[1]
    parts = [part.strip() for part in (parsed[2] or "").split(",")] if parsed[2] else []
    if len(parts) != {STEADY: 0, STEP: 2, PHASES: 4}[form]:
        raise ModelError(f"{where} is {text!r}; expected {FORMS}")
    try:
        values = tuple(map(int, parts))
    except ValueError:
        raise ModelError(f"{where} is {text!r}; expected whole numbers in {FORMS}") from None
    half = len(values) // 2
    for numbers, unit, limit in (
        (values[:half], "ms", _MAX_MS),
        (values[half:], "thousandths", _MAX_PERMILLE),
    ):
        if any(not 1 <= value <= limit for value in numbers):
            raise ModelError(f"{where} is {text!r}; {unit} must be from 1 to {limit:,}")
    if form == PHASES and (values[0] > values[1] or values[2] > values[3]):
        raise ModelError(f"{where} is {text!r}; the lower bounds must not be above the upper ones")
    return RateScript(form=form, values=values)
