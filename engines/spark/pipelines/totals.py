"""Implements the steps of the retail queries that have a single state: top lists and a running mean."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from streamlab.engines.spark.pipelines.relation import PLACE
from streamlab.engines.spark.pipelines.stateful import Step

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
    """Return the step that adds up counts of pairs and emits a top list, of counts above `more_than`, each hour.

    With `restart` counts restart every hour.
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
            added = pairs.groupby(_ITEMS)["count"].sum()
            counts.by_pair = counts.by_pair.add(added, fill_value=0).astype("int64")
        return (pd.concat(tops) if tops else pd.DataFrame()), counts

    return Step(run=run, output=LISTS)


def _best(counts: _Counts, top: int, more_than: int, ts: int) -> pd.DataFrame:
    often = counts.by_pair[counts.by_pair > more_than].rename("count").reset_index()
    best = often.sort_values(["count", *_ITEMS], ascending=[False, True, True]).head(top)
    return best.assign(ts=ts, since=counts.since, rank=range(1, len(best) + 1))


def means() -> Step:
    """Return the step that emits, for every session, the numbers of sessions and pages so far, and their mean."""

    def run(state: Any, new: pd.DataFrame) -> tuple[pd.DataFrame, tuple[int, int]]:
        sessions, pages = state or (0, 0)
        n = pd.RangeIndex(sessions + 1, sessions + 1 + len(new)).to_numpy()
        total = pages + new["visited"].cumsum()
        output = new[list(PLACE)].assign(sessions=n, pages=total, average=total / n)
        return output, (int(n[-1]), int(total.iloc[-1]))

    return Step(run=run, output=MEANS)
