"""An estimate of energy from CPU time, for machines without counters: opt-in, never a measurement.

CPU-seconds times watts of a busy core, plus watts of the rest times the time. It has columns of its
own and is never mixed into those of the counters. It knows nothing about clock frequency, vector
units, memory traffic or other programs, and errs in either direction by whatever its parameters do.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab.measure.energy.errors import EnergyError

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What the estimate assumes; kept with every record.

    Attributes:
        watts_per_core: taken by one busy core beyond idle, W.
        base_watts: taken by the rest of the machine all the time, W; 0: only the cores.
        source: where these figures come from, in the user's words, e.g. a data sheet and its page.
    """

    watts_per_core: float
    base_watts: float = 0.0
    source: str

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        for name in ("watts_per_core", "base_watts"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (number and math.isfinite(value) and value >= 0):
                raise EnergyError(f"energy estimate: {name} = {value!r}; expected watts, 0 or more")
        if self.watts_per_core == 0:
            raise EnergyError("energy estimate: watts_per_core = 0; expected more than 0 W")
        if not (isinstance(self.source, str) and self.source.strip()):
            raise EnergyError(
                f"energy estimate: source = {self.source!r}; say where the watts come from, "
                "e.g. 'data sheet X, TDP 65 W / 8 cores'"
            )

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "Estimate":
        """Return the estimate that a table of a matrix describes.

        Raises:
            EnergyError: a key is unknown or missing, or a value means nothing.
        """
        wanted = {"watts_per_core", "base_watts", "source"}
        unknown = sorted(set(table) - wanted)
        missing = sorted({"watts_per_core", "source"} - set(table))
        if unknown or missing:
            raise EnergyError(
                "energy estimate: "
                + "; ".join(
                    [f"unknown key {key}" for key in unknown] + [f"no {key}" for key in missing]
                )
                + "; expected watts_per_core, source, and optionally base_watts"
            )
        return cls(**table)


def columns_of(estimate: Estimate | None, *, cpu_s: float | None, window_s: float) -> Row:
    """Return `estimate_j` and `estimate_parameters`; both null where none was asked for.

    Args:
        estimate: what to assume; None: no estimate.
        cpu_s: CPU-seconds in the window; None: not known, so the joules are null.
        window_s: length of the window in seconds.
    """
    if estimate is None:
        return {"estimate_j": None, "estimate_parameters": None}
    parameters = {
        "model": "cpu_s * watts_per_core + window_s * base_watts",
        "watts_per_core": estimate.watts_per_core,
        "base_watts": estimate.base_watts,
        "source": estimate.source,
        "cpu_s": cpu_s,
        "window_s": window_s,
    }
    joules = None
    if cpu_s is not None:
        joules = cpu_s * estimate.watts_per_core + window_s * estimate.base_watts
    return {"estimate_j": joules, "estimate_parameters": json.dumps(parameters)}
