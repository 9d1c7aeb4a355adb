"""Small inputs of tweets for tests: few words and times, so that repeats and ties are the rule."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.model import Alphabet, Input, ListColumn, Stream

FIRST_TS, LAST_TS = -9, 25


@st.composite
def tweet_inputs(draw: st.DrawFn) -> Input:
    """Up to three streams, empty ones and tweets without words among them; cut off or not."""
    streams = []
    for index in range(draw(st.integers(1, 3))):
        ts = sorted(draw(st.lists(st.integers(FIRST_TS, LAST_TS), max_size=10)))
        words = [draw(st.lists(st.integers(0, 4), max_size=6)) for _ in ts]
        tags = [draw(st.lists(st.integers(0, 2), max_size=3)) for _ in ts]
        chars = [draw(st.integers(0, 9)) for _ in ts]
        streams.append(tweet_stream(index, ts, words, tags, chars))
    until = draw(st.none() | st.integers(LAST_TS + 1, LAST_TS + 9))
    return Input(
        alphabet=Alphabet(kinds=("tweet",), keys=1), streams=tuple(streams), until_ts=until
    )


def tweet_stream(
    index: int,
    ts: list[int],
    words: list[list[int]],
    hashtags: list[list[int]],
    chars: list[int],
) -> Stream:
    return Stream(
        name=f"tweet-{index}",
        kinds=(0,),
        ts=np.array(ts, dtype=np.int64),
        payload={
            "user": np.zeros(len(ts), dtype=np.int32),
            "chars": np.array(chars, dtype=np.int32),
            "words": ListColumn.of(words, np.int32),
            "hashtags": ListColumn.of(hashtags, np.int32),
        },
    )


def tweets(data: Input) -> list[dict[str, Any]]:
    """Return all tweets as plain values, in order of time."""
    found = []
    for stream in data.streams:
        columns = {
            name: list(part.rows()) if isinstance(part, ListColumn) else part.tolist()
            for name, part in stream.payload.items()
        }
        for row, ts in enumerate(stream.ts.tolist()):
            found.append({"ts": ts, **{name: part[row] for name, part in columns.items()}})
    return sorted(found, key=lambda tweet: tweet["ts"])
