"""The oracles of tweets equal loops over windows and tweets, and so does the reference engine."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.inputs.tweets import windows
from streamlab.workloads.model import Alphabet, Input
from streamlab.workloads.registry import workload
from tests.workloads.suite.streams import agreed, generated, rows
from tests.workloads.suite.tweet_inputs import tweet_inputs, tweet_stream, tweets

Tweet = dict[str, Any]
SIZES = st.tuples(st.integers(1, 6), st.integers(0, 9)).map(lambda x: (x[0], x[0] + x[1]))


def windows_of(data: Input, wa: int, ws: int) -> Iterator[tuple[int, list[Tweet]]]:
    """Yield (right boundary, tweets) of all expired windows, however empty, one by one."""
    found = tweets(data)
    if not found:
        return
    watermark = found[-1]["ts"] if data.until_ts is None else data.until_ts - 1
    for n in range(-60, 60):
        if n * wa + ws <= watermark:
            inside = [t for t in found if n * wa <= t["ts"] < n * wa + ws]
            yield n * wa + ws, inside


def counted(
    data: Input, wa: int, ws: int, keys: Callable[[Tweet], Iterable[int]]
) -> list[tuple[int, ...]]:
    expected = []
    for right, inside in windows_of(data, wa, ws):
        counts = Counter(key for tweet in inside for key in keys(tweet))
        expected += [(right, key, count) for key, count in sorted(counts.items())]
    return expected


def agrees(name: str, query: dict[str, object], data: Input, expected: list[tuple[int, ...]]):
    assert agreed(workload(name).bound(query), data) == expected


@settings(deadline=None)  # comparing compiles when it is first used
@given(tweet_inputs(), SIZES)
def test_a_word_counts_once_in_a_tweet(data: Input, sizes: tuple[int, int]):
    wa, ws = sizes
    expected = counted(data, wa, ws, lambda tweet: set(tweet["words"]))
    agrees("wordcount", {"wa_ms": wa, "ws_ms": ws}, data, expected)


@settings(deadline=None)  # comparing compiles when it is first used
@given(tweet_inputs(), SIZES)
def test_of_a_bag_a_word_counts_as_often_as_a_tweet_has_it(data: Input, sizes: tuple[int, int]):
    wa, ws = sizes
    expected = counted(data, wa, ws, lambda tweet: tweet["words"])
    agrees("wordcount", {"wa_ms": wa, "ws_ms": ws, "counting": "bag"}, data, expected)


def pairs_of(tweet: Tweet, distance: int) -> list[int]:
    words = tweet["words"]
    return [
        words[i] * 2**32 + words[j]
        for i in range(len(words))
        for j in range(i + 1, len(words))
        if distance == 0 or j - i <= distance
    ]


@settings(deadline=None)  # comparing compiles when it is first used
@given(tweet_inputs(), SIZES, st.integers(0, 6), st.sampled_from(["set", "bag"]))
def test_a_pair_is_two_words_in_their_order_that_are_near(
    data: Input, sizes: tuple[int, int], distance: int, counting: str
):
    wa, ws = sizes
    made = set if counting == "set" else list
    expected = counted(data, wa, ws, lambda tweet: made(pairs_of(tweet, distance)))
    query: dict[str, object] = {"wa_ms": wa, "ws_ms": ws, "distance": distance}
    agrees("paircount", query | {"counting": counting}, data, expected)


@settings(deadline=None)  # comparing compiles when it is first used
@given(tweet_inputs(), SIZES)
def test_the_longest_tweet_of_a_hashtag(data: Input, sizes: tuple[int, int]):
    wa, ws = sizes
    expected = []
    for right, inside in windows_of(data, wa, ws):
        tags = sorted({tag for tweet in inside for tag in tweet["hashtags"]})
        longest = [max(t["chars"] for t in inside if tag in t["hashtags"]) for tag in tags]
        expected += [(right, *pair) for pair in zip(tags, longest, strict=True)]
    agrees("longest_tweet_per_hashtag", {"wa_ms": wa, "ws_ms": ws}, data, expected)


def test_the_papers_example_of_red_and_pink():
    """Figure 15 of STRETCH: pink at 09:50 (11 characters), then red and pink at 09:58 (13)."""
    minute = 60_000
    red, pink = 0, 1
    ts = [590 * minute, 598 * minute, 600 * minute]
    stream = tweet_stream(0, ts, [[], [], []], [[pink], [red, pink], []], [11, 13, 5])
    data = Input(alphabet=Alphabet(kinds=("tweet",), keys=1), streams=(stream,))
    expected = [(600 * minute, red, 13), (600 * minute, pink, 13)]
    agrees("longest_tweet_per_hashtag", {}, data, expected)


@pytest.mark.some(3)
@pytest.mark.parametrize("batch", [1, 7, 64])
@pytest.mark.parametrize("name", ["wordcount", "paircount", "longest_tweet_per_hashtag"])
def test_windows_are_the_same_however_many_tweets_are_expanded_at_once(
    name: str, batch: int, monkeypatch: pytest.MonkeyPatch
):
    chosen = workload(name).bound({"wa_ms": 30, "ws_ms": 70})
    data = generated(chosen, {"vocabulary": 50, "hashtagged": 0.5}, 500, seed=5)
    whole = rows(chosen, chosen.oracle(data))
    assert len(whole) > 100
    monkeypatch.setattr(windows, "BATCH_TWEETS", batch)
    assert agreed(chosen, data) == whole


def test_generated_tweets_are_like_the_real_ones_they_were_fitted_to():
    """Means and quantiles of 63,326 tweets of Health News in Twitter (docs/workloads.md)."""
    data = generated(workload("wordcount"), {"streams": 1}, 100_000, seed=1)
    payload = data.streams[0].payload
    words = np.diff(payload["words"].offsets)
    assert words.mean() == pytest.approx(10.95, rel=0.02)
    assert words.std() == pytest.approx(4.47, rel=0.02)
    found = np.quantile(words, [0.1, 0.25, 0.5, 0.75, 0.9, 0.99])
    assert np.abs(found - [6, 8, 10, 13, 18, 23]).max() <= 1
    hashtags = np.bincount(np.diff(payload["hashtags"].offsets), minlength=4)[:4] / 100_000
    assert np.allclose(hashtags, [0.8215, 0.1267, 0.0382, 0.0112], atol=0.006)
    shares = np.bincount(payload["words"].values)[:3] / len(payload["words"].values)
    assert np.allclose(shares, [0.0293, 0.0220, 0.0170], atol=0.003)
    assert data.streams[0].ts[[0, 1, -1]].tolist() == [0, 1, 99_999]


def test_streams_share_the_tweets_in_turn_and_the_rate():
    data = generated(workload("paircount"), {"streams": 3, "rate": 100}, 30, seed=1)
    assert sorted(ts for stream in data.streams for ts in stream.ts.tolist()) == list(
        range(0, 300, 10)
    )


def test_seeds_and_streams_differ_and_no_words_is_possible():
    chosen = workload("wordcount")
    params = chosen.params({"words": 0.0, "hashtagged": 1.0})
    specs = chosen.streams(params, 200)
    made = [
        chosen.generate(params, seed, specs, index, 0, 100)
        for seed, index in ((1, 0), (2, 0), (1, 1))
    ]
    tags = [tuple(map(tuple, columns["hashtags"].rows())) for columns in made]
    assert len(set(tags)) == 3
    assert all(tag for column in tags for tag in column)
    assert all(len(columns["words"].values) == 0 for columns in made)
