"""Joins of two tables by pandas, apart from the lab, and random tables for them."""

from typing import Any

import numpy as np
import pandas as pd

By = str | list[str]
USERS = ("ann", "bob", "cleo", "dan")


def random_rows(seed: int, rows: int, span: int, value: str) -> pd.DataFrame:
    """Rows of few users in a short span, so that times tie; not in order of time."""
    chance = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "at": chance.integers(0, span, rows),
            "user": [USERS[i] for i in chance.integers(0, len(USERS), rows)],
            value: chance.integers(-50, 50, rows),
            f"{value}_text": [f"t{i}" for i in chance.integers(0, 9, rows)],
            f"{value}_part": chance.integers(0, 99, rows) / 8,
        }
    ).astype({"user": str, f"{value}_text": str, f"{value}_part": float})


def pairs_within(
    left: pd.DataFrame, right: pd.DataFrame, before: int, after: int, by: By = "user"
) -> pd.DataFrame:
    """The pairs of equal `by` whose times are within the bounds."""
    both = left.reset_index(names="row").merge(right, on=by, suffixes=("", "_right"))
    distance = both["at_right"] - both["at"]
    return both[(distance >= -before) & (distance <= after)]


def left_within(
    left: pd.DataFrame,
    right: pd.DataFrame,
    before: int,
    after: int,
    every: int,
    by: By = "user",
) -> pd.DataFrame:
    """These pairs, and the left rows without one whose bound passes, in steps of `every`, before the end."""
    pairs = pairs_within(left, right, before, after, by)
    alone = left[~left.index.isin(pairs["row"])]
    end = max([*left["at"], *right["at"]])
    leaves = (alone["at"] + after) // every * every + every
    return pd.concat([pairs, alone[leaves <= end]]).drop(columns="row")


def latest_before(
    left: pd.DataFrame, right: pd.DataFrame, bound: int | None, by: By = "user"
) -> pd.DataFrame:
    """Each left row with the latest right row of equal `by` at or before it."""
    right = right.assign(at_right=right["at"])
    return pd.merge_asof(
        left.sort_values("at", kind="stable"),
        right.sort_values("at", kind="stable"),
        on="at",
        by=by,
        tolerance=bound,
        suffixes=("", "_right"),
    )


def records(frame: pd.DataFrame, columns: list[str]) -> list[tuple[Any, ...]]:
    """The rows as sorted tuples; None for missing values."""
    rows = frame[columns].astype(object)
    listed = rows.where(frame[columns].notna(), None).itertuples(index=False, name=None)
    return sorted(listed, key=repr)
