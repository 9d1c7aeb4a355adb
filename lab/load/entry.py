"""One `[load]` table of a matrix: a load, or several rates of one, or a search."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engines.protocol import ADAPTIVE
from lab.load.spec import CONSTANT
from lab.search.settings import SearchSettings

CATCH_UP = "catch-up"
OPEN = "open"
SEARCH = "sustainable"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadEntry:
    """A `[load]` table, or one of several `[[load]]` tables. A matrix without any is catch-up.

    Attributes:
        mode: CATCH_UP, OPEN (every rate of `rates_eps` is a cell) or SEARCH.
        label: last part of the cells' ids; default: none for catch-up, `<arrival>-<rate>` for open
            loads (`constant-1M`), `sustainable` for a search.
        rates_eps: offered rates; empty for `replay` and for a search.
        objective: further condition on a sustained rate, e.g. `p99 <= 10ms`.
        engines, workloads: patterns as in `[[engine]]`; None: all. Of `engines`: on the engine's
            name, or `name/variant`.
        The other attributes are those of `LoadSpec`.
    """

    mode: str
    label: str | None = None
    arrival: str = CONSTANT
    rates_eps: tuple[float, ...] = ()
    warm_up_s: float = 10.0
    window_s: float = 60.0
    seed: int = 1
    batching: str = ADAPTIVE
    heartbeat_ms: float = 1.0
    params: Mapping[str, float] = field(default_factory=dict)
    objective: str | None = None
    search: SearchSettings | None = None
    engines: tuple[str, ...] | None = None
    workloads: tuple[str, ...] | None = None
