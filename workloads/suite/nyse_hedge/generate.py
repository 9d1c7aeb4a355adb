"""Generates the trades of ten companies on a trading day, in bursts.

The paper's data (NYSE and NASDAQ trades of one day) is not public. The generated data has its
shape: six hours, ten companies, 0 to 8,000 trades a second with one peak near 7,600. `day` computes
rates and prices. Both sides of the self-join have the same rows, and rates are those of one side.

Most trades are near the company's current price. A share of them, `contrarian`, has the same
distance on the other side of the average. It hedges trades of companies at a similar distance, so
about one pair in four thousand matches by default.
"""

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.cadence import one_key as keys
from streamlab.workloads.datasets.random import below, draw, zipf
from streamlab.workloads.inputs.parameters import skew_parameter
from streamlab.workloads.model import Columns, ModelError, Parameter, Params, StreamSpec
from streamlab.workloads.suite.nyse_hedge.day import (
    UNIT_BITS,
    Session,
    averages,
    distances,
    side,
    trades_until,
)

__all__ = ["DAY_MS", "KINDS", "OPENING_MS", "PARAMETERS", "TRADE", "generate", "keys", "streams"]

KINDS = ("left", "right")
TRADE = np.dtype([("id", np.int32), ("price", np.int32), ("average", np.int32)])
"""Company, price of the trade, and the company's average price of the day before, in cents."""

OPENING_MS = 34_200_000
"""Half past nine; event times are in milliseconds since midnight of the first day."""

DAY_MS = 86_400_000
_ROWS = 1  # stream of random numbers for the rows of both sides
_COMPANY, _INSTANT, _NOISE, _CONTRARY = range(4)  # lanes of random numbers
_NOISE_PART = 16
"""A trade is up to 1/16 of `Session.gap` away from the company's current price."""

PARAMETERS = {
    "seconds": Parameter(
        default=21_600, help="length of a session; 21600 is six hours", minimum=16, maximum=50_000
    ),
    "mean_eps": Parameter(
        default=100, help="trades a second over a session", minimum=1, maximum=100_000
    ),
    "peak_eps": Parameter(
        default=7_600, help="trades in the peak second", minimum=1, maximum=1_000_000
    ),
    "companies": Parameter(default=10, help="number of companies", minimum=2, maximum=1000),
    "skew": skew_parameter("the trades over the companies", default=0.5),
    "gap": Parameter(
        default=0.01,
        help="distance of prices from the average of the day before, as a share of the average",
        minimum=0.001,
        maximum=0.25,
    ),
    "contrarian": Parameter(
        default=0.002,
        help="share of trades on the other side of the average; sets how many pairs match",
        minimum=0.0,
        maximum=1.0,
    ),
}


def session_of(params: Params) -> Session:
    """Return the session that parameters describe.

    Raises:
        ModelError: the session has no room for its peak.
    """
    session = Session(
        seconds=int(params["seconds"]),
        mean_eps=int(params["mean_eps"]),
        peak_eps=int(params["peak_eps"]),
        companies=int(params["companies"]),
        gap=round(float(params["gap"]) * (1 << UNIT_BITS)),
    )
    if session.trades < 4 * session.peak_eps or session.peak_eps < 4 * session.mean_eps:
        raise ModelError(
            f"nyse_hedge: {session.seconds} seconds of {session.mean_eps} trades each have no room "
            f"for a peak of {session.peak_eps} trades in a second: peak_eps must be at least "
            "4 mean_eps, and at most a quarter of seconds x mean_eps"
        )
    return session


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the two sides, each with half of the events.

    A session has `seconds` x `mean_eps` trades. Fewer events end within the session, more events
    add further days.
    """
    session_of(params)
    rows = -(-events // 2)
    return tuple(StreamSpec(name=kind, kinds=(kind,), fields=TRADE, events=rows) for kind in KINDS)


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of a side; both sides have the same rows."""
    session = session_of(params)
    parts = [_rows_of_day(params, session, seed, 0, begin, begin)]
    while begin < end:
        day = begin // session.trades
        day_end = min(end, (day + 1) * session.trades)
        parts.append(_rows_of_day(params, session, seed, day, begin, day_end))
        begin = day_end
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _rows_of_day(
    params: Params, session: Session, seed: int, day: int, begin: int, end: int
) -> dict[str, npt.NDArray[np.integer]]:
    """Return rows [begin, end) of a side, all on one day."""
    trades_before = trades_until(session, seed, day)
    trade = np.arange(begin, end, dtype=np.int64) - day * session.trades
    second = np.searchsorted(trades_before, trade, side="right") - 1
    trades_in_second = trades_before[second + 1] - trades_before[second]
    # The k-th of n trades of a second lies in the k-th of n equal parts of the second.
    part = (trade - trades_before[second] << UNIT_BITS) + below(
        draw(seed, _ROWS, _INSTANT, begin, end), 1 << UNIT_BITS
    )
    instant = part * 1000 // (trades_in_second << UNIT_BITS)
    company = zipf(
        draw(seed, _ROWS, _COMPANY, begin, end), session.companies, float(params["skew"])
    )
    noise = session.gap // _NOISE_PART
    distance = distances(session, seed, day)[company, second]
    distance = distance + below(draw(seed, _ROWS, _NOISE, begin, end), 2 * noise + 1) - noise
    contrary = below(draw(seed, _ROWS, _CONTRARY, begin, end), 1 << UNIT_BITS)
    distance[contrary < round(float(params["contrarian"]) * (1 << UNIT_BITS))] *= -1
    average = averages(session, seed, day)[company]
    price = average + (average * distance * side(seed, day) + (1 << UNIT_BITS - 1) >> UNIT_BITS)
    return {
        "ts": OPENING_MS + day * DAY_MS + second * 1000 + instant,
        "id": company.astype(np.int32),
        "price": price.astype(np.int32),
        "average": average.astype(np.int32),
    }
