"""Splits the clicks of users into sessions, by sorting."""

import polars as pl


def closed_sessions(clicks: pl.LazyFrame, gap_ms: int) -> pl.LazyFrame:
    """Return the clicks of ended sessions, by session, each with the end of its session.

    A session ends with the user's first click that comes more than the gap after the previous one. A user's last
    session does not end.

    Args:
        clicks: `ts`, `user` and more, in total order.
        gap_ms: the longest gap within a session.

    Returns:
        The columns of `clicks`, `row` (the click's row in the input), `session`, and `end` and `end_row`: time and
        row of the click that ended the session.
    """
    user, ts = pl.col("user"), pl.col("ts")
    begins = user.ne_missing(user.shift()) | (ts - ts.shift() > gap_ms)
    marked = (
        clicks.with_row_index("row")
        .sort("user", maintain_order=True)
        .with_columns(begins.cum_sum().alias("session"))
    )
    sessions = marked.group_by("session", maintain_order=True).agg(
        pl.col("user", "ts", "row").first()
    )
    ends = sessions.select(
        "session",
        ts.shift(-1).alias("end"),
        pl.col("row").shift(-1).alias("end_row"),
        (user == user.shift(-1)).alias("again"),
    ).filter("again")
    return marked.join(ends.drop("again"), on="session", maintain_order="left")
