"""Generates tweets: Zipf words and hashtags, in realistic numbers, evenly spaced in time.

`docs/workloads.md` has the source of the defaults and compares them with real tweets.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.cadence import numbered_specs, one_key
from streamlab.workloads.datasets.random import Bits, below, choose, draw
from streamlab.workloads.inputs.tweets.choice import (
    hashtags_per_tweet,
    ranks,
    words_per_tweet,
)
from streamlab.workloads.inputs.tweets.schema import TWEET
from streamlab.workloads.model import Block, ListColumn, Parameter, Params, StreamSpec

PARAMETERS = {
    "streams": Parameter(default=2, help="number of streams of tweets", minimum=1, maximum=1024),
    "rate": Parameter(
        default=1000,
        help="tweets of all streams in a second of event time",
        minimum=1,
        maximum=10**9,
    ),
    "words": Parameter(
        default=10.9, help="words in a tweet, on average", minimum=0.0, maximum=30.0
    ),
    "vocabulary": Parameter(default=30_000, help="different words", minimum=1, maximum=5_000_000),
    "exponent": Parameter(
        default=1.0,
        help="Zipf exponent of words and hashtags by rank; 0 is uniform",
        minimum=0.0,
        maximum=10.0,
    ),
    "shift": Parameter(
        default=3,
        help="added to ranks before the power is taken: 0 is Zipf's law, 3 is close to real tweets",
        minimum=0,
        maximum=1_000_000,
    ),
    "hashtagged": Parameter(
        default=0.18, help="share of the tweets with a hashtag", minimum=0.0, maximum=1.0
    ),
    "hashtags": Parameter(default=2_500, help="different hashtags", minimum=1, maximum=5_000_000),
    "users": Parameter(
        default=100_000, help="number of authors, uniform", minimum=1, maximum=2**31 - 1
    ),
}

_USER, _WORDS, _HASHTAGS, _WORD, _HASHTAG = 0, 1, 2, 1 << 10, 2 << 10
"""Lanes of random numbers; word j of a tweet is drawn in lane _WORD + j."""

_LETTERS_SEED = 0x7EE7
"""Seed of the lengths of words, which are the same in all datasets."""

keys = one_key


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams, all of equal length."""
    count = int(params["streams"])
    rows = [-(-events // count)] * count
    return numbered_specs("tweet", "tweet", TWEET.fields, rows, TWEET.lists)


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Block:
    """Return rows [begin, end) of one stream; row i of stream s is tweet i * streams + s."""
    tweets = np.arange(begin, end, dtype=np.int64) * len(specs) + index
    exponent, shift = float(params["exponent"]), int(params["shift"])
    counts = choose(draw(seed, index, _WORDS, begin, end), words_per_tweet(float(params["words"])))
    vocabulary = ranks(int(params["vocabulary"]), exponent, shift)
    words = _lists(seed, index, _WORD, begin, end, counts, vocabulary)
    share = hashtags_per_tweet(float(params["hashtagged"]))
    counts = choose(draw(seed, index, _HASHTAGS, begin, end), share)
    tags = ranks(int(params["hashtags"]), exponent, shift)
    hashtags = _lists(seed, index, _HASHTAG, begin, end, counts, tags)
    user = below(draw(seed, index, _USER, begin, end), int(params["users"]))
    return {
        "ts": tweets * 1000 // int(params["rate"]),
        "user": user.astype(np.int32),
        "chars": _chars(words, hashtags),
        "words": words,
        "hashtags": hashtags,
    }


def _lists(
    seed: int,
    index: int,
    lane: int,
    begin: int,
    end: int,
    counts: npt.NDArray[np.int64],
    bounds: Bits,
) -> ListColumn:
    """Return `counts` choices for each row; choice j of a row depends only on the row and j."""
    offsets = np.zeros(end - begin + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    bits = np.empty(offsets[-1], dtype=np.uint64)
    for j in range(int(counts.max(initial=0))):
        rows = np.flatnonzero(counts > j)
        bits[offsets[rows] + j] = draw(seed, index, lane + j, begin, end)[rows]
    return ListColumn(offsets, choose(bits, bounds).astype(np.int32))


def _chars(words: ListColumn, hashtags: ListColumn) -> npt.NDArray[np.int32]:
    """Return the lengths of texts of these words and hashtags, separated by blanks."""
    n_words, n_tags = np.diff(words.offsets), np.diff(hashtags.offsets)
    letters = _letters_in(words) + _letters_in(hashtags) + n_tags  # one # a hashtag
    chars: npt.NDArray[np.int64] = letters + np.maximum(n_words + n_tags - 1, 0)
    return chars.astype(np.int32)


def _letters_in(lists: ListColumn) -> npt.NDArray[np.int64]:
    most = int(lists.values.max(initial=0))
    sums = np.zeros(len(lists.values) + 1, dtype=np.int64)
    np.cumsum(_letters(1 << (most + 1).bit_length())[lists.values], out=sums[1:])
    letters: npt.NDArray[np.int64] = sums[lists.offsets[1:]] - sums[lists.offsets[:-1]]
    return letters


@lru_cache(maxsize=4)
def _letters(count: int) -> npt.NDArray[np.int64]:
    """Return the number of letters of each word id below `count`; frequent words are short."""
    rank = np.arange(1, count + 1, dtype=np.int64)
    bit_length = np.frexp(rank.astype(np.float64))[1]
    letters = 1 + bit_length // 3 + below(draw(_LETTERS_SEED, 0, 0, 0, count), 5)
    letters.flags.writeable = False
    return letters
