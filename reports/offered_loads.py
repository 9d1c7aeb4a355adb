"""Reads the offered loads of cells: requested values, and for verified cells also measured values."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from streamlab.json_value import json_object
from streamlab.results.query import Spread, spread_of
from streamlab.results.schema import TrialRow

PUBLISHABLE_WINDOW_S = 60.0
"""Shortest window that shows a slow growth of the backlog (docs/method.md)."""

_MEASURED_COLUMNS = (
    *("offered_eps", "emitted_share", "send_lag_p99_ns", "send_lag_max_ns", "backlog_slope_eps"),
    *("backlog_max", "drain_s", "service_p50_ns", "service_p99_ns", "service_max_ns"),
)
"""Columns of measured values; the attributes of `OfferedLoad` have the same names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedLoad:
    """The load of a cell.

    Attributes:
        label: last part of the cell's id.
        requested_eps: the requested rate; None if the arrival process defines the rate.
        arrival: the arrival process, with its parameters in words.
        warm_up_s, window_s: the requested lengths.
        objective: the condition on the latency; empty without one.
        offered_eps: rate of the due times, at which events should be sent. This attribute and all
            attributes below are measured, and are None unless the cell is verified.
        ceiling_eps: highest rate of the generator; None for a virtual source.
    """

    label: str
    requested_eps: float | None
    arrival: str
    warm_up_s: float
    window_s: float
    objective: str
    offered_eps: Spread | None
    emitted_share: Spread | None
    send_lag_p99_ns: Spread | None
    send_lag_max_ns: Spread | None
    ceiling_eps: Spread | None
    backlog_slope_eps: Spread | None
    backlog_max: Spread | None
    drain_s: Spread | None
    service_p50_ns: Spread | None
    service_p99_ns: Spread | None
    service_max_ns: Spread | None

    @property
    def criteria(self) -> str:
        """The window and the objective in words."""
        text = f"{self.window_s:g} s window after {self.warm_up_s:g} s"
        return f"{text}, objective {self.objective}" if self.objective else text

    @property
    def quick(self) -> bool:
        """Whether the window is too short for a publishable verdict."""
        return self.window_s < PUBLISHABLE_WINDOW_S

    @property
    def is_near_ceiling(self) -> bool:
        """Whether the rate is above half of the generator's highest rate."""
        if self.offered_eps is None or self.ceiling_eps is None:
            return False
        return self.offered_eps.median > self.ceiling_eps.median / 2


def load_of(rows: Sequence[TrialRow], *, verified: bool) -> OfferedLoad | None:
    """Return the load of a cell's trials; None for catch-up."""
    first = next((row for row in rows if row.load), None)
    if first is None or first.load is None:
        return None
    request = json.loads(first.load)
    measured_rows = rows if verified else []
    return OfferedLoad(
        label=first.load_label or "",
        requested_eps=request.get("rate_eps"),
        arrival=_describe_arrival(request),
        warm_up_s=float(request.get("warm_up_s") or 0.0),
        window_s=float(request.get("window_s") or 0.0),
        objective=request.get("objective") or "",
        ceiling_eps=spread_of(measured_rows, "generator_ceiling_eps"),
        **{name: spread_of(measured_rows, name) for name in _MEASURED_COLUMNS},
    )


def remarks(reasons: Iterable[str]) -> list[str]:
    """Return the distinct reasons, except reasons that the mark `quick` already states."""
    texts = (
        "; ".join(part for part in reason.split("; ") if not part.startswith("quick:"))
        for reason in reasons
    )
    return list(dict.fromkeys(text for text in texts if text))


def _describe_arrival(request: Mapping[str, object]) -> str:
    params = ", ".join(
        f"{name} {value:g}" for name, value in json_object(request.get("params")).items()
    )
    name = str(request.get("arrival", "constant"))
    return f"{name} ({params})" if params else name
