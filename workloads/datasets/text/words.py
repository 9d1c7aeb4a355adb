r"""Splits a text into words and hashtags, by the same rule for tables and import kinds.

In this order:

1. `&amp;`, `&lt;`, `&gt;`, `&quot;` and `&#39;` become the characters that they stand for.
2. The length is the number of characters, without blanks at the ends of the text.
3. Text becomes lower case (Unicode), and the typographic apostrophe a plain one.
4. Web addresses and @mentions are skipped. They are not words of the language, and nearly all of them occur once.
   An address extends from `http://`, `https://` or `www.`, not after a letter or digit, to the next blank.
5. A hashtag is `#` followed by letters, digits and underscores, with at least one letter. It is not after a
   letter, digit or underscore. It is added to the hashtags without `#`, and is not a word.
6. A word is a maximal run of letters and digits. An apostrophe between two of them belongs to it.

Marks (accents that are separate characters, and emoji variation selectors) belong to the letter or digit
before them. A mark not after a letter or digit is not part of a word, and does not join its neighbours.

Letters, digits and marks are those of Python's Unicode tables (L, N, M; `\w` is L, N and `_`).
"""

import re
import sys
import unicodedata
from functools import cache
from itertools import groupby
from typing import NamedTuple

_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&"}  # `&` last


class Tokens(NamedTuple):
    """The parts of a text: the number of characters, and the words and hashtags with repetitions."""

    chars: int
    words: list[str]
    hashtags: list[str]


def tokenize(text: str) -> Tokens:
    """Return the length of a text, and its words and hashtags in order."""
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    text = text.strip()
    words, hashtags = [], []
    for match in _pattern().finditer(text.lower().replace("\u2019", "'")):
        if match.lastgroup == "word":
            words.append(match["word"])
        elif match.lastgroup == "hashtag":
            hashtags.append(match["hashtag"])
    return Tokens(len(text), words, hashtags)


@cache
def _pattern() -> re.Pattern[str]:
    """Return the pattern of one address, mention, hashtag or word, or of a stray underscore.

    A word or underscore also consumes a directly following `#` or `@`, which then begins no hashtag or mention.
    """
    mark, number = _signs(("Mn", "Mc", "Me")), _signs(("Nl", "No"))
    letter = rf"(?:(?![{number}])[^\W\d_])"
    run = rf"[^\W_](?:[^\W_]|[{mark}])*"
    tag = rf"\w(?:\w|[{mark}])*"
    return re.compile(
        r"(?:https?://|www\.)\S*"
        rf"|@{tag}"
        rf"|#(?=(?:\w[{mark}]*)*?{letter})(?P<hashtag>{tag})"
        rf"|(?P<word>{run}(?:'{run})*)[#@]?"
        rf"|_[{mark}]*[#@]?"
    )


def _signs(categories: tuple[str, ...]) -> str:
    """Return all characters of some Unicode categories, as ranges of a `re` character class."""
    codes = range(sys.maxunicode + 1)
    selected = [code for code in codes if unicodedata.category(chr(code)) in categories]
    # Within a run, codes have the same difference to their index in the list.
    runs = [list(run) for _, run in groupby(enumerate(selected), lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in runs)
