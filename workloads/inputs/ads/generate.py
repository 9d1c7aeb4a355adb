"""Generates events of ads, evenly spaced in time.

Users, pages and types are uniform, campaigns uniform or Zipf-distributed. The benchmark's generator
(`core.clj`) has 100 campaigns of 10 ads, 100 users and 100 pages. Here there are more users, so that each
location has several users to cluster. The benchmark's events are up to 50 ms out of order, one in 100,000
up to a minute; here streams are sorted, as everywhere in the lab.

Event e depends only on the seed and e, not on the number of streams: row i of stream s is event
i * streams + s.
"""

from streamlab.workloads.datasets.cadence import (
    numbered_specs,
    one_key,
    rows_of,
    tuples_of,
    typed_columns,
)
from streamlab.workloads.datasets.random import below, below_each, draw_at, zipf
from streamlab.workloads.inputs.ads.schema import EVENT, FIELDS, SECOND_MS, TYPES
from streamlab.workloads.inputs.parameters import skew_parameter, streams_parameter
from streamlab.workloads.model import Columns, ModelError, Parameter, Params, StreamSpec

_ALL = 0  # stream of random numbers for all events, whatever their stream
_USER, _PAGE, _CAMPAIGN, _AD, _TYPE = range(5)  # lanes of random numbers

MAX_ID = 2**31 - 1

PARAMETERS = {
    "streams": streams_parameter("events", 2, most=1024),
    "rate": Parameter(
        default=100_000,
        help="events of all streams in a second of event time",
        minimum=1,
        maximum=10**9,
    ),
    "campaigns": Parameter(default=100, help="number of campaigns", minimum=1, maximum=10**6),
    "ads": Parameter(
        default=1000, help="number of ads, assigned to campaigns in turn", minimum=1, maximum=10**7
    ),
    "users": Parameter(default=1000, help="number of users, uniform", minimum=1, maximum=MAX_ID),
    "pages": Parameter(default=100, help="number of pages, uniform", minimum=1, maximum=MAX_ID),
    "skew": skew_parameter("campaigns"),
}

keys = one_key


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams, with `events` rows in all.

    Raises:
        ModelError: fewer ads than campaigns.
    """
    ads, campaigns, count = (int(params[name]) for name in ("ads", "campaigns", "streams"))
    if ads < campaigns:
        raise ModelError(
            f"ads: {ads} ads for {campaigns} campaigns; give at least one ad a campaign"
        )
    rows = (rows_of(events, index, count) for index in range(count))
    return numbered_specs(EVENT, EVENT, FIELDS, rows)


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream."""
    event = tuples_of(begin, end, index, len(specs))
    ads, campaigns = int(params["ads"]), int(params["campaigns"])
    campaign = zipf(draw_at(seed, _ALL, _CAMPAIGN, event), campaigns, float(params["skew"]))
    turns = -(-(ads - campaign) // campaigns)  # number of ads in each event's campaign
    turn = below_each(draw_at(seed, _ALL, _AD, event), turns)
    columns = {
        "user": below(draw_at(seed, _ALL, _USER, event), int(params["users"])),
        "page": below(draw_at(seed, _ALL, _PAGE, event), int(params["pages"])),
        "ad": turn * campaigns + campaign,
        "type": below(draw_at(seed, _ALL, _TYPE, event), len(TYPES)),
    }
    return {"ts": event * SECOND_MS // int(params["rate"]), **typed_columns(columns, FIELDS)}
