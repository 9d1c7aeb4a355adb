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
    """Return the auctions, with columns named as in the outputs."""
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


def _select_closed(tables: Tables, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows whose time is at most the last event's."""
    watermark = tables.events(0).select(pl.col("ts").max().alias("watermark"))
    return rows.join(watermark, how="cross").filter(pl.col("ts") <= pl.col("watermark"))


def _end_of_step(ts: str, every: int) -> pl.Expr:
    """Return the end of the step that contains a time."""
    return ((pl.col(ts) // every + 1) * every).alias("ts")


def _winners(tables: Tables, steps: int) -> pl.LazyFrame:
    """Return closed auctions with their winning bids, by `expires`, then auction.

    `ts` is `steps` - 1 steps after the end of the step in which an auction expires.
    """
    bids = _bids(tables, "auction", "person", "price")
    bids = bids.select("auction", _BIDDER, "price", pl.col("ts").alias("bid_ts")).with_row_index()
    every = tables.number("every_ms")
    won = (
        bids.join(_auctions(tables), on="auction")
        .filter(pl.col("bid_ts").is_between(pl.col("opened"), pl.col("expires")))
        .sort(["price", "index"], descending=[True, False])
        .group_by("auction")
        .first()
        .with_columns(((pl.col("expires") // every + steps) * every).alias("ts"))
    )
    return _select_closed(tables, won).sort("ts", "expires", "auction")


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


def nexmark_q5(tables: Tables) -> pl.LazyFrame:
    """Return (ts, auction, bids) of the auctions with the most bids in each window; `ts` is a slide after its end."""
    slide = tables.number("slide_ms")
    later = pl.LazyFrame({"later": range(tables.number("slides"))}, schema={"later": pl.Int64})
    windows = (
        _bids(tables, "auction")
        .group_by(_end_of_step("ts", slide), "auction")
        .agg(pl.len())
        .join(later, how="cross")
        .group_by(pl.col("ts") + (pl.col("later") + 1) * slide, "auction")
        .agg(pl.col("len").sum().cast(pl.Int64).alias("bids"))
    )
    has_most_bids = pl.col("bids") == pl.col("bids").max().over("ts")
    return (
        _select_closed(tables, windows)
        .filter(has_most_bids)
        .select("ts", "auction", "bids")
        .sort("ts")
    )


def nexmark_q6(tables: Tables) -> pl.LazyFrame:
    """Return (ts, seller, average) of each seller and step in which an auction closed."""
    sum_so_far = pl.col("price").cum_sum()
    earlier_sum = sum_so_far.shift(10, fill_value=0)
    number = pl.min_horizontal(pl.int_range(1, pl.len() + 1), 10)
    is_last = pl.col("ts").ne_missing(pl.col("ts").shift(-1))
    return (
        _winners(tables, 2)
        .with_columns(
            ((sum_so_far - earlier_sum) / number).over("seller").alias("average"),
            is_last.over("seller").alias("is_last"),
        )
        .filter("is_last")
        .select("ts", "seller", "average")
    )


def nexmark_q7(tables: Tables) -> pl.LazyFrame:
    """Return the bids with the highest price in each window; `ts` is the window's size after its end."""
    size = tables.number("size_ms")
    bids = _bids(tables, "auction", "person", "price", "extra").with_columns(
        _end_of_step("ts", size) + size, pl.col("ts").alias("bid_ts")
    )
    highest = bids.group_by("ts").agg(pl.col("price").max())
    winners = _select_closed(tables, bids.join(highest, on=["ts", "price"]))
    return winners.select("ts", "auction", _BIDDER, "price", "bid_ts", "extra").sort("ts")


def nexmark_q8(tables: Tables) -> pl.LazyFrame:
    """Return (ts, person, name) of persons who opened an auction in the window of their registration."""
    events = tables.events(0, "type", "person", "name")
    events = events.with_columns(_end_of_step("ts", tables.number("size_ms")))
    sellers = events.filter(pl.col("type") == AUCTION)
    persons = events.filter(pl.col("type") == PERSON)
    new_sellers = persons.join(sellers, on=["ts", "person"], how="semi")
    return _select_closed(tables, new_sellers).select("ts", "person", "name").sort("ts")


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


def nexmark_q11(tables: Tables) -> pl.LazyFrame:
    """Return (ts, bidder, bids, first, last) of the sessions that are over."""
    gap = tables.number("gap_ms")
    pause = pl.col("ts") - pl.col("ts").shift(1)
    session = (pause > gap).fill_null(value=False).cum_sum().over("person").alias("session")
    sessions = (
        _bids(tables, "person")
        .with_columns(session)
        .group_by(_BIDDER, "session")
        .agg(
            pl.len().cast(pl.Int64).alias("bids"),
            pl.col("ts").min().alias("first"),
            pl.col("ts").max().alias("last"),
        )
        .with_columns(_end_of_step("last", gap) + gap)
    )
    watermark = tables.events(0).select(pl.col("ts").max().alias("watermark"))
    return (
        sessions.join(watermark, how="cross")
        .filter(pl.col("ts") <= pl.col("watermark"))
        .select("ts", "bidder", "bids", "first", "last")
        .sort("ts")
    )


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
    milli_cents = pl.col("price") * 908
    hour = pl.col("ts") // 3_600_000 % 24
    day_part = (
        pl.when(hour.is_between(8, 18)).then(0).when(hour.is_between(7, 19)).then(2).otherwise(1)
    )
    letters = [pl.col("extra") // ALPHABET**place % ALPHABET for place in range(LETTERS)]
    return (
        _bids(tables, "auction", "person", "price", "extra")
        .filter(milli_cents > 1_000_000_000, milli_cents < 50_000_000_000)
        .select(
            "ts",
            "auction",
            _BIDDER,
            _EUROS,
            day_part.cast(pl.Int8).alias("day_part"),
            "extra",
            pl.sum_horizontal((letter == 2).cast(pl.Int32) for letter in letters).alias("c_count"),
        )
    )


_RANGES = {
    "": pl.col("price").is_not_null(),
    "_low": pl.col("price") < 10_000,
    "_middle": pl.col("price").is_between(10_000, 999_999),
    "_high": pl.col("price") >= 1_000_000,
}
"""The condition on prices for each suffix of an output column's name."""


def _count_so_far(name: str, condition: pl.Expr, *groups: str) -> pl.Expr:
    return condition.cast(pl.Int64).cum_sum().over(groups).alias(name)


def _statistics(tables: Tables, *groups: str) -> pl.LazyFrame:
    """Return, for each bid, how many bids, bidders and auctions its day and `groups` have so far."""
    day = (pl.col("ts") // tables.number("day_ms")).alias("day")
    bids = _bids(tables, "auction", "person", "price", "channel").with_columns(day)
    for suffix, condition in _RANGES.items():
        bids = bids.with_columns(condition.alias(f"bids{suffix}"))
        for name, field in (("bidders", "person"), ("auctions", "auction")):
            first = pl.col(f"bids{suffix}").cast(pl.Int64).cum_sum().over(*groups, "day", field)
            is_new = pl.col(f"bids{suffix}") & (first == 1)
            bids = bids.with_columns(is_new.alias(f"{name}{suffix}"))
    names = [f"{name}{suffix}" for name in ("bids", "bidders", "auctions") for suffix in _RANGES]
    counts = [_count_so_far(name, pl.col(name), *groups, "day") for name in names]
    return bids.select("ts", *groups, "day", *counts)


def nexmark_q15(tables: Tables) -> pl.LazyFrame:
    """Return the statistics of the day, after each bid."""
    return _statistics(tables)


def nexmark_q16(tables: Tables) -> pl.LazyFrame:
    """Return the statistics of the channel and day, after each bid."""
    return _statistics(tables, "channel")


def nexmark_q17(tables: Tables) -> pl.LazyFrame:
    """Return the statistics of the auction and day, after each bid."""
    group = ("auction", "day")
    price = pl.col("price")
    counts = [
        _count_so_far(f"bids{suffix}", condition, *group) for suffix, condition in _RANGES.items()
    ]
    return (
        _bids(tables, "auction", "price")
        .with_columns((pl.col("ts") // tables.number("day_ms")).alias("day"))
        .select(
            "ts",
            *group,
            *counts,
            price.cum_min().over(group).alias("lowest"),
            price.cum_max().over(group).alias("highest"),
            price.cum_sum().over(group).alias("sum"),
        )
        .with_columns((pl.col("sum") / pl.col("bids")).alias("average"))
    )


def nexmark_q18(tables: Tables) -> pl.LazyFrame:
    """Return the last bid of each step, bidder and auction, at the end of the step."""
    bids = _bids(tables, "auction", "person", "price", "channel", "extra").with_columns(
        _end_of_step("ts", tables.number("every_ms")), pl.col("ts").alias("bid_ts")
    )
    last_bids = bids.group_by("ts", "person", "auction").last()
    columns = ("ts", "auction", _BIDDER, "price", "channel", "bid_ts", "extra")
    return _select_closed(tables, last_bids).select(columns).sort("ts")


def nexmark_q19(tables: Tables) -> pl.LazyFrame:
    """Return the bids that enter the ten highest of their auction, with their rank.

    For each rank in turn, compares a price with the highest price so far; the lower of both passes to the next rank.
    """
    bids = _bids(tables, "auction", "person", "price", "channel", "extra")
    bids = bids.with_columns(pl.col("price").alias("passed"), pl.lit(1, pl.Int32).alias("rank"))
    for _ in range(10):
        highest = pl.col("passed").cum_max().shift(1).over("auction").alias("highest")
        lower = pl.min_horizontal("passed", "highest")
        bids = bids.with_columns(highest).with_columns(
            pl.when(pl.col("highest").is_not_null()).then(lower).alias("passed"),
            pl.col("rank") + (pl.col("highest") >= pl.col("price")).fill_null(value=False),
        )
    columns = ("ts", "auction", "rank", _BIDDER, "price", "channel", "extra")
    return bids.filter(pl.col("rank") <= 10).select(columns)


def nexmark_q20(tables: Tables) -> pl.LazyFrame:
    """Return the bids for auctions of category 10 with the auctions' columns, by time."""
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
