r"""One text to its length, its words and its hashtags: the rule, for both ways of importing.

In this order:

1. `&amp;`, `&lt;`, `&gt;`, `&quot;` and `&#39;` are the characters that they stand for.
2. The length is the number of characters, without blanks at the ends of the text.
3. Everything is in lower case (Unicode), and the typographic apostrophe is the plain one.
4. Web addresses (from `http://`, `https://` or `www.`, where no letter or digit is before it,
   to the next blank) and @mentions are left out: they are not words of the language, and
   nearly all of them occur once.
5. A hashtag is `#` with letters, digits and underscores after it, at least one a letter, where no
   letter, digit or underscore is before it. It goes to the hashtags, without `#`, and is no word.
6. A word is a maximal run of letters and digits; an apostrophe between two of them belongs to it.

Marks (accents that are characters of their own, and what says how an emoji is shown) belong to the
letter or digit before them. A mark begins nothing: where there is no letter or digit before it, it
is no part of a word, and does not join what is around it.

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
    """What is kept of a text: number of characters; words and hashtags as often as they occur."""

    chars: int
    words: list[str]
    hashtags: list[str]


def tokens(text: str) -> Tokens:
    """Return the length, the words and the hashtags of a text, in order."""
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    text = text.strip()
    words, hashtags = [], []
    for found in _pattern().finditer(text.lower().replace("\u2019", "'")):
        if found.lastgroup == "word":
            words.append(found["word"])
        elif found.lastgroup == "hashtag":
            hashtags.append(found["hashtag"])
    return Tokens(len(text), words, hashtags)


@cache
def _pattern() -> re.Pattern[str]:
    """Return what matches one address, mention, hashtag or word, or a stray underscore.

    A word, or an underscore, takes along a `#` or `@` right after it, which is then no beginning of
    a hashtag or a mention.
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
    """Return all characters of some Unicode categories, as ranges of a class of `re`."""
    codes = range(sys.maxunicode + 1)
    among = [code for code in codes if unicodedata.category(chr(code)) in categories]
    # Runs of codes have the same difference to their place in the list.
    runs = [list(run) for _, run in groupby(enumerate(among), lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in runs)
