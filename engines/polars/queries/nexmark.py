"""Computes Nexmark's queries."""

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.workloads.inputs.nexmark.schema import (
    ALPHABET,
    AUCTION,
    BID,
    FIRST_CATEGORY,
    LETTERS,
    PERSON,
    STATES,
)

_BIDDER = pl.col("person").alias("bidder")
_EUROS = ((pl.col("price") * 908 + 500) // 1000).alias("price")


def _bids(tables: Tables, *fields: str) -> pl.LazyFrame:
    return tables.events(0, "type", *fields).filter(pl.col("type") == BID).drop("type")


def _auctions(tables: Tables) -> pl.LazyFrame:
    """Return the auctions, with the columns of outputs."""
    fields = ("type", "auction", "name", "price", "reserve", "expires", "person", "category")
    return (
        tables.events(0, *fields)
        .filter(pl.col("type") == AUCTION)
        .select(
            "auction",
            pl.col("name").alias("item"),
            pl.col("price").alias("initial_bid"),
            "reserve",
            pl.col("ts").alias("opened"),
            "expires",
            pl.col("person").alias("seller"),
            "category",
        )
    )


def nexmark_q0(tables: Tables) -> pl.LazyFrame:
    """Return all bids."""
    bids = _bids(tables, "auction", "person", "price", "channel", "extra")
    return bids.rename({"person": "bidder"})


def nexmark_q1(tables: Tables) -> pl.LazyFrame:
    """Return all bids, with prices in euro cents."""
    return _bids(tables, "auction", "person", "price").select("ts", "auction", _BIDDER, _EUROS)


def nexmark_q2(tables: Tables) -> pl.LazyFrame:
    """Return the bids for auctions that are multiples of `every`."""
    bids = _bids(tables, "auction", "price")
    return bids.filter(pl.col("auction") % tables.number("every") == 0)


def nexmark_q3(tables: Tables) -> pl.LazyFrame:
    """Return (ts, name, city, state, auction) of sellers in some states, by time."""
    events = tables.events(0, "type", "person", "auction", "category", "name", "city", "state")
    states = [STATES.index(state) for state in ("OR", "ID", "CA")]
    persons = events.filter(pl.col("type") == PERSON, pl.col("state").is_in(states))
    auctions = events.filter(pl.col("type") == AUCTION, pl.col("category") == FIRST_CATEGORY)
    return (
        auctions.select(pl.col("ts").alias("opened"), "person", "auction")
        .join(persons.select("ts", "person", "name", "city", "state"), on="person")
        .select(pl.max_horizontal("ts", "opened").alias("ts"), "name", "city", "state", "auction")
        .sort("ts")
    )


def _winners(tables: Tables, steps: int) -> pl.LazyFrame:
    """Return closed auctions with their winning bids, by `expires`, then auction.

    `ts` is the end of the step in which an auction expires, plus `steps` - 1 steps.
    """
    bids = _bids(tables, "auction", "person", "price")
    bids = bids.select("auction", _BIDDER, "price", pl.col("ts").alias("bid_ts")).with_row_index()
    every = tables.number("every_ms")
    watermark = tables.events(0).select(pl.col("ts").max().alias("watermark"))
    return (
        bids.join(_auctions(tables), on="auction")
        .filter(pl.col("bid_ts").is_between(pl.col("opened"), pl.col("expires")))
        .sort(["price", "index"], descending=[True, False])
        .group_by("auction")
        .first()
        .with_columns(((pl.col("expires") // every + steps) * every).alias("ts"))
        .join(watermark, how="cross")
        .filter(pl.col("ts") <= pl.col("watermark"))
        .sort("ts", "expires", "auction")
    )


def nexmark_q4(tables: Tables) -> pl.LazyFrame:
    """Return (ts, category, auctions, average) of each category and step in which an auction closed."""
    sums = _winners(tables, 2).group_by("ts", "category").agg(pl.len(), pl.col("price").sum())
    so_far = [pl.col(name).cast(pl.Int64).cum_sum().over("category") for name in ("len", "price")]
    return (
        sums.sort("ts")
        .with_columns(so_far)
        .select(
            "ts",
            "category",
            pl.col("len").alias("auctions"),
            average=pl.col("price") / pl.col("len"),
        )
    )


def nexmark_q6(tables: Tables) -> pl.LazyFrame:
    """Return (ts, seller, average) of each seller and step in which an auction closed."""
    upto = pl.col("price").cum_sum()
    before = upto.shift(10, fill_value=0)
    number = pl.min_horizontal(pl.int_range(1, pl.len() + 1), 10)
    is_last = pl.col("ts").ne_missing(pl.col("ts").shift(-1))
    return (
        _winners(tables, 2)
        .with_columns(
            ((upto - before) / number).over("seller").alias("average"),
            is_last.over("seller").alias("is_last"),
        )
        .filter("is_last")
        .select("ts", "seller", "average")
    )


def nexmark_q9(tables: Tables) -> pl.LazyFrame:
    """Return the winning bids, by the time of closing."""
    auction = (
        "auction",
        "item",
        "initial_bid",
        "reserve",
        "opened",
        "expires",
        "seller",
        "category",
    )
    return _winners(tables, 1).select("ts", *auction, "bidder", "price", "bid_ts")


def nexmark_q13(tables: Tables) -> pl.LazyFrame:
    """Return all bids, with the values of a table."""
    rows = tables.number("rows")
    side = pl.LazyFrame({"key": range(rows)}, schema={"key": pl.Int32})
    side = side.with_columns((rows - pl.col("key")).alias("value"))
    bids = _bids(tables, "auction", "person", "price")
    keyed = bids.with_columns((pl.col("auction") % rows).alias("key"))
    joined = keyed.join(side, on="key", maintain_order="left")
    return joined.select("ts", "auction", _BIDDER, "price", "value")


def nexmark_q14(tables: Tables) -> pl.LazyFrame:
    """Return the selected bids in euro cents, with the part of the day and the number of letters c."""
    thousandths = pl.col("price") * 908
    hour = pl.col("ts") // 3_600_000 % 24
    day_part = (
        pl.when(hour.is_between(8, 18)).then(0).when(hour.is_between(7, 19)).then(2).otherwise(1)
    )
    letter = [pl.col("extra") // ALPHABET**place % ALPHABET for place in range(LETTERS)]
    return (
        _bids(tables, "auction", "person", "price", "extra")
        .filter(thousandths > 1_000_000_000, thousandths < 50_000_000_000)
        .select(
            "ts",
            "auction",
            _BIDDER,
            _EUROS,
            day_part.cast(pl.Int8).alias("day_part"),
            "extra",
            pl.sum_horizontal((each == 2).cast(pl.Int32) for each in letter).alias("c_count"),
        )
    )


def nexmark_q20(tables: Tables) -> pl.LazyFrame:
    """Return the bids for auctions of category 10, with these, by time."""
    bids = _bids(tables, "auction", "person", "price", "channel")
    auctions = _auctions(tables).filter(pl.col("category") == FIRST_CATEGORY)
    return (
        bids.rename({"ts": "bid_ts"})
        .join(auctions, on="auction")
        .select(
            pl.max_horizontal("bid_ts", "opened").alias("ts"),
            "auction",
            _BIDDER,
            "price",
            "channel",
            "bid_ts",
            "item",
            "initial_bid",
            "reserve",
            "opened",
            "expires",
            "seller",
        )
        .sort("ts")
    )
