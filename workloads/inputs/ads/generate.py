"""Generates events: users, pages and types uniform, campaigns uniform or by Zipf, even in time.

The benchmark's own generator (`core.clj`) has 100 campaigns of 10 ads, 100 users and 100 pages;
here are more users, so that a location has some to cluster. Its events come up to 50 ms out of
order, and one in 100,000 by up to a minute; streams are sorted here, as everywhere in the lab.

Event e is a function of the seed and e, whatever the number of streams: row i of stream s is event
i * streams + s.
"""

from streamlab.workloads.datasets.random import below, below_each, draw_at, zipf
from streamlab.workloads.datasets.stream_assignment import rows_of, tuples_of
from streamlab.workloads.inputs.ads.schema import EVENT, FIELDS, SECOND_MS, TYPES
from streamlab.workloads.model import Columns, ModelError, Parameter, Params, StreamSpec

_ALL = 0  # events draw as one stream, whatever streams they are dealt to
_USER, _PAGE, _CAMPAIGN, _AD, _TYPE = range(5)  # lanes

MOST = 2**31 - 1

PARAMETERS = {
    "streams": Parameter(
        default=2, help="physical streams, dealt events in turn", minimum=1, maximum=1024
    ),
    "rate": Parameter(
        default=100_000,
        help="events of all streams in a second of event time",
        minimum=1,
        maximum=10**9,
    ),
    "campaigns": Parameter(default=100, help="number of campaigns", minimum=1, maximum=10**6),
    "ads": Parameter(
        default=1000, help="number of ads, dealt to campaigns in turn", minimum=1, maximum=10**7
    ),
    "users": Parameter(default=1000, help="number of users, all alike", minimum=1, maximum=MOST),
    "pages": Parameter(default=100, help="number of pages, all alike", minimum=1, maximum=MOST),
    "skew": Parameter(
        default=0.0,
        help="Zipf exponent of campaigns; 0 is uniform",
        minimum=0.0,
        maximum=10.0,
    ),
}


def keys(params: Params) -> int:
    """Return 1: tags carry no key."""
    return 1


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams, which have `events` rows between them.

    Raises:
        ModelError: there are fewer ads than campaigns.
    """
    ads, campaigns, count = (int(params[name]) for name in ("ads", "campaigns", "streams"))
    if ads < campaigns:
        raise ModelError(f"ads: {ads} ads for {campaigns} campaigns; some would have none")
    return tuple(
        StreamSpec(
            name=f"{EVENT}-{index}",
            kinds=(EVENT,),
            fields=FIELDS,
            events=rows_of(events, index, count),
        )
        for index in range(count)
    )


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream."""
    event = tuples_of(begin, end, index, len(specs))
    ads, campaigns = int(params["ads"]), int(params["campaigns"])
    campaign = zipf(draw_at(seed, _ALL, _CAMPAIGN, event), campaigns, float(params["skew"]))
    turns = -(-(ads - campaign) // campaigns)  # ads of each one's campaign
    turn = below_each(draw_at(seed, _ALL, _AD, event), turns)
    columns = {
        "user": below(draw_at(seed, _ALL, _USER, event), int(params["users"])),
        "page": below(draw_at(seed, _ALL, _PAGE, event), int(params["pages"])),
        "ad": turn * campaigns + campaign,
        "type": below(draw_at(seed, _ALL, _TYPE, event), len(TYPES)),
    }
    return {
        "ts": event * SECOND_MS // int(params["rate"]),
        **{name: columns[name].astype(FIELDS[name]) for name in FIELDS.names or ()},
    }
