"""Defines Nexmark's queries on windows, sessions, days and ranks over the whole input."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.pipelines.relation import IN_ORDER, PLACE, Relation
from streamlab.workloads.inputs.nexmark.schema import AUCTION, BID, PERSON
from streamlab.workloads.model import Params

_SO_FAR = f"{IN_ORDER} rows unbounded preceding"
_BEFORE = f"{IN_ORDER} rows between unbounded preceding and 1 preceding"
_RANGES = {
    "": "true",
    "_low": "price < 10000",
    "_middle": "price between 10000 and 999999",
    "_high": "price >= 1000000",
}
"""The condition on prices for each suffix of an output column's name."""


def _select_closed(rows: DataFrame, records: DataFrame) -> DataFrame:
    """Return the rows whose time is at most the last record's."""
    last = records.selectExpr("max(ts) as last_ts")
    return rows.crossJoin(F.broadcast(last)).where("ts <= last_ts")


def _end_of_step(ts: str, every: object, steps: int = 1) -> str:
    """Return the SQL of a time `steps` - 1 steps after the end of the step that contains `ts`."""
    return f"({ts} div {every}L + {steps}) * {every}L"


def _hot_items(records: DataFrame, params: Params) -> DataFrame:
    slide = params["slide_ms"]
    counts = (
        records.where(f"type = {BID}")
        .selectExpr("auction", f"{_end_of_step('ts', slide, 2)} as next")
        .groupBy("next", "auction")
        .agg(F.expr("count(*) as bids"))
    )
    windows = counts.selectExpr(
        "auction", "bids", f"explode(sequence(0, {params['slides']} - 1)) as later", "next"
    )
    sums = windows.groupBy(F.expr(f"next + later * {slide}L").alias("ts"), "auction").agg(
        F.expr("sum(bids) as bids")
    )
    ranked = _select_closed(sums, records).selectExpr(
        "*", "max(bids) over (partition by ts) as most"
    )
    return ranked.where("bids = most")


def _highest_bids(records: DataFrame, params: Params) -> DataFrame:
    bids = records.where(f"type = {BID}").selectExpr(
        f"{_end_of_step('ts', params['size_ms'], 2)} as ts", "auction", "person as bidder", "price",
        "ts as bid_ts", "extra", "src", "row",
    )  # fmt: skip
    highest = bids.groupBy("ts").agg(F.expr("max(price) as price"))
    return _select_closed(bids.join(highest, ["ts", "price"]), records)


def _new_sellers(records: DataFrame, params: Params) -> DataFrame:
    end = f"{_end_of_step('ts', params['size_ms'])} as ts"
    sellers = records.where(f"type = {AUCTION}").selectExpr(end, "person")
    persons = records.where(f"type = {PERSON}").selectExpr(end, "person", "name")
    return _select_closed(persons.join(sellers, ["ts", "person"], "left_semi"), records)


def _sessions(records: DataFrame, params: Params) -> DataFrame:
    gap = params["gap_ms"]
    bids = records.where(f"type = {BID}").selectExpr(
        "ts as bid_ts",
        "person as bidder",
        f"ts - lag(ts) over (partition by person order by ts) > {gap}L as begins",
    )
    numbered = bids.selectExpr(
        "*", "count_if(begins) over (partition by bidder order by bid_ts) as session"
    )
    sessions = numbered.groupBy("bidder", "session").agg(
        F.expr("count(*) as bids"), F.expr("min(bid_ts) as first"), F.expr("max(bid_ts) as last")
    )
    return _select_closed(
        sessions.selectExpr(f"{_end_of_step('last', gap, 2)} as ts", "*"), records
    )


def _statistics(records: DataFrame, params: Params, *groups: str) -> DataFrame:
    """Return, for each bid, how many bids, bidders and auctions its day and `groups` have so far."""
    group = ", ".join((*groups, "day"))
    day = f"ts div {params['day_ms']}L as day"
    bids = records.where(f"type = {BID}").selectExpr(
        *PLACE, "channel", "auction", "person", "price", day
    )
    news, counts = [], []
    for suffix, condition in _RANGES.items():
        part = f"partition by {group}, {condition}"
        counts.append(
            f"count_if({condition}) over (partition by {group} {_SO_FAR}) as bids{suffix}"
        )
        for name, field in (("bidders", "person"), ("auctions", "auction")):
            first = f"row_number() over ({part}, {field} {IN_ORDER}) = 1"
            news.append(f"{condition} and {first} as new_{name}{suffix}")
            so_far = f"over (partition by {group} {_SO_FAR})"
            counts.append(f"count_if(new_{name}{suffix}) {so_far} as {name}{suffix}")
    return bids.selectExpr("*", *news).selectExpr(*PLACE, *groups, "day", *counts)


def _auction_statistics(records: DataFrame, params: Params) -> DataFrame:
    so_far = f"over (partition by auction, day {_SO_FAR})"
    counts = [
        f"count_if({condition}) {so_far} as bids{suffix}" for suffix, condition in _RANGES.items()
    ]
    values = {"lowest": "min", "highest": "max", "sum": "sum"}
    bids = records.where(f"type = {BID}").selectExpr("*", f"ts div {params['day_ms']}L as day")
    totals = bids.selectExpr(
        *PLACE, "auction", "day", *counts,
        *(f"{function}(price) {so_far} as {name}" for name, function in values.items()),
    )  # fmt: skip
    return totals.selectExpr("*", "sum / bids as average")


def _last_bids(records: DataFrame, params: Params) -> DataFrame:
    bids = records.where(f"type = {BID}").selectExpr(
        f"{_end_of_step('ts', params['every_ms'])} as ts", "auction", "person as bidder",
        "struct(ts as bid_ts, src, row, price, channel, extra) as bid",
    )  # fmt: skip
    last = bids.groupBy("ts", "auction", "bidder").agg(F.expr("max(bid) as bid"))
    return _select_closed(last.select("ts", "auction", "bidder", "bid.*"), records)


def _ranked_bids(records: DataFrame, params: Params) -> DataFrame:
    """Return the bids that enter the ten highest of their auction.

    For each rank in turn, compares a price with the highest price so far; the lower of both passes to the next rank.
    """
    bids = records.where(f"type = {BID}").selectExpr(
        *PLACE, "auction", "person as bidder", "price", "channel", "extra", "price as passed",
        "1 as rank",
    )  # fmt: skip
    columns = [name for name in bids.columns if name not in ("passed", "rank")]
    for _ in range(10):
        highest = f"max(passed) over (partition by auction {_BEFORE}) as highest"
        bids = bids.selectExpr("*", highest).selectExpr(
            *columns,
            "if(highest is null, null, least(passed, highest)) as passed",
            "rank + if(highest >= price, 1, 0) as rank",
        )
    return bids.where("rank <= 10")


_BIDS = ("type", "auction", "person", "price")

RELATIONS: Mapping[str, Relation] = {
    "nexmark_q5": Relation(fields=("type", "auction"), batch=_hot_items, order=("ts", "auction")),
    "nexmark_q7": Relation(fields=(*_BIDS, "extra"), batch=_highest_bids, order=PLACE),
    "nexmark_q8": Relation(
        fields=("type", "person", "name"), batch=_new_sellers, order=("ts", "person")
    ),
    "nexmark_q11": Relation(
        fields=("type", "person"), batch=_sessions, order=("ts", "bidder", "first")
    ),
    "nexmark_q15": Relation(fields=(*_BIDS, "channel"), batch=_statistics, order=PLACE),
    "nexmark_q16": Relation(
        fields=(*_BIDS, "channel"),
        batch=lambda records, params: _statistics(records, params, "channel"),
        order=PLACE,
    ),
    "nexmark_q17": Relation(
        fields=("type", "auction", "price"), batch=_auction_statistics, order=PLACE
    ),
    "nexmark_q18": Relation(
        fields=(*_BIDS, "channel", "extra"), batch=_last_bids, order=("ts", "auction", "bidder")
    ),
    "nexmark_q19": Relation(fields=(*_BIDS, "channel", "extra"), batch=_ranked_bids, order=PLACE),
}
