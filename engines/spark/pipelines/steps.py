"""Implements the steps (`Step` in relation.py) of the retail queries.

The state of a key is its open part: the clicks of its session, the items of its ticket, or the days of its year. A step
processes this part again, together with the new records. Top lists and the running mean have a single state.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from streamlab.engines.spark.pipelines import relation
from streamlab.engines.spark.pipelines.relation import Step, append_rows, run_starts
from streamlab.workloads.inputs.retail.schema import DYNAMIC, ORDER

PLACE = list(relation.PLACE)
_PLACE = "ts long, src int, row long"
PAIRS = f"{_PLACE}, nth int, item int"
SESSIONS = f"{_PLACE}, visited long"
COUNTED = f"{_PLACE}, since long, item_1 int, item_2 int, count long"
TRENDS = f"{_PLACE}, category short, day int, points int, rise long, run long"


def viewed_together(item: int, gap_ms: int, most_items: int) -> Step:
    """Return the step that pairs items of ended sessions, at the place of the click that ends the session."""

    def run(state: Any, new: pd.DataFrame) -> tuple[pd.DataFrame, Any]:
        closed_clicks, still_open = _sessions(state, new, gap_ms)
        items = closed_clicks.drop_duplicates(["session", "item"])
        items = items.assign(nth=items.groupby("session").cumcount())
        items = items[items["nth"] < most_items]
        sessions_with_item = items.loc[items["item"] == item, "session"]
        pairs = items[items["session"].isin(sessions_with_item) & (items["item"] != item)]
        return _at_end(pairs, ["nth", "item"]), still_open

    return Step(run=run, output=PAIRS)


def abandoned_carts(gap_ms: int) -> Step:
    """Return the step that makes a row of each session that ends with an abandoned cart."""

    def run(state: Any, new: pd.DataFrame) -> tuple[pd.DataFrame, Any]:
        closed_clicks, still_open = _sessions(state, new, gap_ms)
        click = np.arange(len(closed_clicks))
        pages = closed_clicks.assign(
            ordered=np.where(closed_clicks["page"] == ORDER, click, -1),
            dynamic=np.where(closed_clicks["page"] == DYNAMIC, click, -1),
        )
        sessions = pages.groupby("session").agg(
            end_ts=("end_ts", "first"),
            end_src=("end_src", "first"),
            end_row=("end_row", "first"),
            visited=("page", "size"),
            ordered=("ordered", "max"),
            dynamic=("dynamic", "max"),
        )
        abandoned_sessions = sessions[sessions["dynamic"] > sessions["ordered"]]
        return _at_end(abandoned_sessions, ["visited"]), still_open

    return Step(run=run, output=SESSIONS)


def _sessions(
    state: pd.DataFrame | None, new: pd.DataFrame, gap_ms: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two tables: clicks of ended sessions with the place where their session ended, and clicks of open ones."""
    all_clicks, _ = append_rows(state, new)
    clicks = all_clicks.sort_values("user", kind="stable", ignore_index=True)
    is_first = run_starts(clicks["user"])
    begins = is_first.copy()
    begins[1:] |= np.diff(clicks["ts"].to_numpy()) > gap_ms
    session = np.cumsum(begins) - 1
    starts = np.flatnonzero(begins)
    # A session has ended if the next session belongs to the same user.
    has_ended = np.append(~is_first[starts[1:]], False)[session]
    end = np.append(starts[1:], 0)[session]
    ends = {f"end_{name}": clicks[name].to_numpy()[end] for name in PLACE}
    return clicks.assign(session=session, **ends)[has_ended], clicks[~has_ended]


def _at_end(rows: pd.DataFrame, fields: list[str]) -> pd.DataFrame:
    """Return some fields of rows, with the place at which each row's session ended."""
    columns = rows[[f"end_{name}" for name in PLACE] + fields]
    return columns.set_axis([*PLACE, *fields], axis=1)


def last_views(views: int, within_ms: int) -> Step:
    """Return the step that makes a row of each recent view before a purchase, at the purchase's place."""

    def run(state: Any, new: pd.DataFrame) -> tuple[pd.DataFrame, Any]:
        clicks, _ = append_rows(state, new)
        steps = clicks.sort_values("user", kind="stable", ignore_index=True)
        is_view = (steps["sale"] == 0).to_numpy()
        viewed, bought = steps[is_view], steps[~is_view]
        # Views are sorted by user, so the views before a purchase end at the number of views so far.
        end = np.cumsum(is_view)[~is_view]
        user = np.searchsorted(viewed["user"].to_numpy(), bought["user"].to_numpy())
        begin = np.maximum(user, end - views)
        size = np.maximum(end - begin, 0)
        nth = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        view = viewed.iloc[np.repeat(begin, size) + nth]
        pairs = bought.iloc[np.repeat(np.arange(len(bought)), size)][PLACE]
        is_recent = pairs["ts"].to_numpy() - view["ts"].to_numpy() <= within_ms
        pairs = pairs.assign(nth=nth, item=view["item"].to_numpy())[is_recent]
        return pairs, viewed.groupby("user").tail(views)

    return Step(run=run, output=PAIRS)


def sold_together(most_items: int, hour_ms: int) -> Step:
    """Return the step that counts pairs of items on tickets, by hour, within a micro-batch."""

    def run(state: Any, new: pd.DataFrame) -> tuple[pd.DataFrame, Any]:
        sales, old_count = append_rows(state, new)
        sales = sales.assign(is_new=np.arange(len(sales)) >= old_count)
        sorted_sales = sales.sort_values("slot", kind="stable", ignore_index=True)
        begins_slot = run_starts(sorted_sales["slot"])
        number = np.cumsum(begins_slot | run_starts(sorted_sales["ticket"]))
        lines = sorted_sales.assign(number=number).drop_duplicates(["number", "item"])
        lines = lines.assign(nth=lines.groupby("number").cumcount())
        lines = lines[lines["nth"] < most_items]
        pairs = _pair_with_earlier(lines).assign(count=1)
        pairs["since"] = pairs["ts"] // hour_ms * hour_ms
        pair_counts = pairs.groupby(["since", "item_1", "item_2"], as_index=False).agg(
            ts=("ts", "first"), src=("src", "first"), row=("row", "first"), count=("count", "sum")
        )
        is_latest = np.append(begins_slot[1:], True)
        is_open = lines["number"].isin(number[is_latest])
        return pair_counts, lines[is_open].drop(columns=["is_new", "number", "nth"])

    return Step(run=run, output=COUNTED)


def _pair_with_earlier(lines: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each new line and each earlier item of its ticket, in order of places."""
    new_line = np.flatnonzero(lines["is_new"])
    count = lines["nth"].to_numpy()[new_line]
    nth = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    items, later = lines["item"].to_numpy(), np.repeat(new_line, count)
    item, other = items[later], items[np.repeat(new_line - count, count) + nth]
    pairs = lines.iloc[later][PLACE]
    pairs = pairs.assign(item_1=np.minimum(item, other), item_2=np.maximum(item, other))
    return pairs.sort_values(PLACE)


def declining(days: int) -> Step:
    """Return the step that reports each category that is not growing, at the end of each day."""

    def run(state: Any, new: pd.DataFrame) -> tuple[pd.DataFrame, Any]:
        sales, _ = append_rows(state, new.assign(is_new=True))
        by_day = sales.groupby(["category", "day"], as_index=False).agg(
            ts=("ts", "first"),
            src=("src", "first"),
            row=("row", "first"),
            net_paid=("net_paid", "sum"),
            is_new=("is_new", "first"),
        )
        category = by_day.groupby("category")
        x, y = by_day["day"], by_day["net_paid"]
        table = by_day.assign(x=x, y=y, xy=x * y, xx=x * x)
        sums = table.groupby("category")[["x", "y", "xy", "xx"]].cumsum()
        n = category.cumcount() + 1
        ends = by_day[[*PLACE, "is_new"]].shift(-1, fill_value=0)
        has_ended = (by_day["category"] == by_day["category"].shift(-1)).to_numpy()
        rise = n * sums["xy"] - sums["x"] * sums["y"]
        is_reported = has_ended & (ends["is_new"] == 1) & (x < days) & (n > 1) & (rise <= 0)
        trends = ends[PLACE].assign(
            category=by_day["category"],
            day=x,
            points=n,
            rise=rise,
            run=n * sums["xx"] - sums["x"] * sums["x"],
        )
        return trends[is_reported], by_day.assign(is_new=False)

    return Step(run=run, output=TRENDS)


_ITEMS = ["item_1", "item_2"]
LISTS = "ts long, since long, rank int, item_1 int, item_2 int, count long"
MEANS = "ts long, src int, row long, sessions long, pages long, average double"


@dataclass(slots=True)
class _Counts:
    """Counts of pairs, and the hour of the last pair."""

    since: int | None = None
    by_pair: pd.Series = field(
        default_factory=lambda: pd.Series(
            dtype="int64", index=pd.MultiIndex.from_arrays([[], []], names=_ITEMS)
        )
    )


def lists(top: int, more_than: int, *, restart: bool) -> Step:
    """Return the step that adds up counts of pairs and emits a top list each hour, from counts above `more_than`.

    With `restart`, counts restart every hour.
    """

    def run(state: _Counts | None, new: pd.DataFrame) -> tuple[pd.DataFrame, _Counts]:
        counts = state or _Counts()
        tops = []
        for _, pairs in new.groupby("since"):
            ts, since = int(pairs["ts"].iloc[0]), int(pairs["since"].iloc[0])
            if counts.since is not None and since != counts.since:
                tops.append(_best(counts, top, more_than, ts))
                if restart:
                    counts = _Counts()
            counts.since = since
            new_counts = pairs.groupby(_ITEMS)["count"].sum()
            counts.by_pair = counts.by_pair.add(new_counts, fill_value=0).astype("int64")
        return (pd.concat(tops) if tops else pd.DataFrame()), counts

    return Step(run=run, output=LISTS)


def _best(counts: _Counts, top: int, more_than: int, ts: int) -> pd.DataFrame:
    frequent = counts.by_pair[counts.by_pair > more_than].rename("count").reset_index()
    best = frequent.sort_values(["count", *_ITEMS], ascending=[False, True, True]).head(top)
    return best.assign(ts=ts, since=counts.since, rank=range(1, len(best) + 1))


def means() -> Step:
    """Return the step that emits, for every session, the numbers of sessions and pages so far, and their mean."""

    def run(state: Any, new: pd.DataFrame) -> tuple[pd.DataFrame, tuple[int, int]]:
        sessions, pages = state or (0, 0)
        n = pd.RangeIndex(sessions + 1, sessions + 1 + len(new)).to_numpy()
        total = pages + new["visited"].cumsum()
        output = new[PLACE].assign(sessions=n, pages=total, average=total / n)
        return output, (int(n[-1]), int(total.iloc[-1]))

    return Step(run=run, output=MEANS)
