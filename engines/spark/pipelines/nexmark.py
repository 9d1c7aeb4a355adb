"""Defines Nexmark's queries: projections and filters, also in micro-batches, and joins over the whole input."""

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.pipelines.relation import PLACE, Relation
from streamlab.workloads.inputs.nexmark.schema import (
    ALPHABET,
    AUCTION,
    BID,
    FIRST_CATEGORY,
    LETTERS,
    PERSON,
    STATES,
)
from streamlab.workloads.model import Params

Select = Callable[[DataFrame, Params], DataFrame]

_EUROS = "(price * 908 + 500) div 1000 as price"


def _bids(records: DataFrame, *columns: str) -> DataFrame:
    return records.where(f"type = {BID}").selectExpr(*PLACE, *columns)


def _auctions(records: DataFrame) -> DataFrame:
    return records.where(f"type = {AUCTION}").selectExpr(
        "auction", "name as item", "price as initial_bid", "reserve", "ts as opened", "expires",
        "person as seller", "category",
    )  # fmt: skip


def _pass(records: DataFrame, params: Params) -> DataFrame:
    return _bids(records, "auction", "person as bidder", "price", "channel", "extra")


def _convert(records: DataFrame, params: Params) -> DataFrame:
    return _bids(records, "auction", "person as bidder", _EUROS)


def _select(records: DataFrame, params: Params) -> DataFrame:
    return _bids(records, "auction", "price").where(f"auction % {params['every']}L = 0")


def _with_table(records: DataFrame, params: Params) -> DataFrame:
    rows = int(params["rows"])
    table = records.sparkSession.range(rows).selectExpr("id", f"cast({rows} - id as int) as value")
    bids = _bids(records, "auction", "person as bidder", "price", f"auction % {rows}L as id")
    return bids.join(F.broadcast(table), "id")


def _calculate(records: DataFrame, params: Params) -> DataFrame:
    hour = "ts div 3600000 % 24"
    day_part = (
        f"case when {hour} between 8 and 18 then 0 when {hour} between 7 and 19 then 2 else 1 end"
    )
    letters = [f"extra div {ALPHABET**place} % {ALPHABET} = 2" for place in range(LETTERS)]
    c_count = " + ".join(f"cast({letter} as int)" for letter in letters)
    chosen = records.where("price * 908 > 1000000000 and price * 908 < 50000000000")
    names = ("auction", "person as bidder", _EUROS, f"{day_part} as day_part", "extra")
    return _bids(chosen, *names, f"{c_count} as c_count")


def _local_sellers(records: DataFrame, params: Params) -> DataFrame:
    states = ", ".join(str(STATES.index(state)) for state in ("OR", "ID", "CA"))
    persons = records.where(f"type = {PERSON} and state in ({states})").selectExpr(
        "person as seller", "ts as registered", "name", "city", "state"
    )
    auctions = _auctions(records).where(f"category = {FIRST_CATEGORY}")
    sold = auctions.select("seller", "auction", "opened").join(persons, "seller")
    return sold.selectExpr("greatest(opened, registered) as ts", "*")


def _winners(records: DataFrame, params: Params, steps: int) -> DataFrame:
    """Return closed auctions with their winning bids.

    `ts` is `steps` - 1 steps after the end of the step in which an auction expires.
    """
    every = f"{params['every_ms']}L"
    bids = _bids(records, "auction", "person as bidder", "price").withColumnRenamed("ts", "bid_ts")
    auctions = _auctions(records)
    joined = bids.join(auctions, "auction").where("bid_ts between opened and expires")
    # Of bids with the highest price, the first.
    best = "max(struct(price, -bid_ts as time, -src as src, -row as row, bidder)) as best"
    won = joined.groupBy(*auctions.columns).agg(F.expr(best))
    last = records.selectExpr("max(ts) as last")
    return (
        won.selectExpr(
            f"(expires div {every} + {steps}) * {every} as ts",
            *auctions.columns, "best.bidder", "best.price", "-best.time as bid_ts",
        )
        .crossJoin(F.broadcast(last))
        .where("ts <= last")
    )  # fmt: skip


def _category_averages(records: DataFrame, params: Params) -> DataFrame:
    sums = _winners(records, params, 2).groupBy("ts", "category").agg(
        F.expr("count(*) as count"), F.expr("sum(price) as sum")
    )  # fmt: skip
    so_far = "over (partition by category order by ts)"
    averages = sums.selectExpr(
        "ts", "category", f"sum(count) {so_far} as auctions", f"sum(sum) {so_far} as sum"
    )
    return averages.selectExpr("*", "sum / auctions as average")


def _seller_averages(records: DataFrame, params: Params) -> DataFrame:
    in_turn = "partition by seller order by expires, auction"
    averages = _winners(records, params, 2).selectExpr(
        "ts",
        "seller",
        f"avg(price) over ({in_turn} rows 9 preceding) as average",
        f"lead(ts) over ({in_turn}) as next",
    )
    return averages.where("next is null or next != ts")


def _expand(records: DataFrame, params: Params) -> DataFrame:
    bids = _bids(records, "auction", "person as bidder", "price", "channel")
    auctions = _auctions(records).where(f"category = {FIRST_CATEGORY}")
    joined = bids.withColumnRenamed("ts", "bid_ts").join(auctions, "auction")
    return joined.selectExpr("greatest(bid_ts, opened) as ts", "*")


def _per_event(fields: tuple[str, ...], select: Select) -> Relation:
    """Return a relation in which each row depends on one event."""
    return Relation(
        fields=("type", *fields),
        batch=select,
        streaming=lambda records, params, groups: select(records, params),
        order=PLACE,
    )


_AUCTION = ("type", "auction", "person", "price", "reserve", "expires", "category", "name")


RELATIONS: Mapping[str, Relation] = {
    "nexmark_q0": _per_event(("auction", "person", "price", "channel", "extra"), _pass),
    "nexmark_q1": _per_event(("auction", "person", "price"), _convert),
    "nexmark_q2": _per_event(("auction", "price"), _select),
    "nexmark_q3": Relation(
        fields=(*_AUCTION, "city", "state"), batch=_local_sellers, order=("ts", "auction")
    ),
    "nexmark_q4": Relation(fields=_AUCTION, batch=_category_averages, order=("ts", "category")),
    "nexmark_q6": Relation(fields=_AUCTION, batch=_seller_averages, order=("ts", "seller")),
    "nexmark_q9": Relation(
        fields=_AUCTION,
        batch=lambda records, params: _winners(records, params, 1),
        order=("ts", "auction"),
    ),
    "nexmark_q13": _per_event(("auction", "person", "price"), _with_table),
    "nexmark_q14": _per_event(("auction", "person", "price", "extra"), _calculate),
    "nexmark_q20": Relation(
        fields=(*_AUCTION, "channel"), batch=_expand, order=("ts", "src", "row")
    ),
}
